import { beforeAll, describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { call, reply, result, say, text, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, rawLog, type World } from "./support/cli-world.ts";
import { openedSession } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

interface Pinned {
  readonly session: string;
  readonly entry: string;
  readonly edit: string;
  readonly receipt: { readonly tokensBefore: number; readonly tokensAfter: number };
  readonly pins: readonly { readonly entry: string; readonly tokens: number }[];
  readonly budgetTokens: number;
  readonly warning: string | null;
}

const viewed = async (name: string): Promise<string> =>
  JSON.stringify(json<{ messages: unknown }>(await world.call("view", name, "--json")).messages);

describe("palimpsest pin", () => {
  it("pins by uuid, shows it, refuses a second time, and is undone like any edit", async () => {
    const session = await openedSession(world.deps, "plain", "create");
    const first = await say(session, user("Never touch the vendored folder."));
    await say(session, reply("m1", text("Understood.")));
    await session.close();
    const before = await viewed("plain");
    const pinned = json<Pinned>(await world.call("pin", "plain", first, "--json"));
    expect(pinned).toMatchObject({ session: "plain", entry: first, warning: null, budgetTokens: 20_000 });
    expect(pinned.pins.map(({ entry }) => entry)).toEqual([first]);
    expect(pinned.receipt.tokensAfter).toBe(pinned.receipt.tokensBefore);
    expect(await viewed("plain")).toBe(before);
    expect((await world.call("sessions", "show", "plain")).out).toContain(`\npins      ${first}\n`);
    expect((await world.call("receipts", "plain")).out).toContain("pin");
    expectRefusal(await world.call("pin", "plain", first), 5, "is pinned already");
    expect((await world.call("undo", "plain", pinned.edit)).code).toBe(0);
    expect(json<{ pins: string[] }>(await world.call("sessions", "show", "plain", "--json")).pins).toEqual([]);
  });

  it("a result named by its call goes through a boundary with that call, until it is unpinned", async () => {
    const session = await openedSession(world.deps, "results", "create");
    await say(session, user("Look."));
    await say(session, reply("m1", call("toolu_keep"), call("toolu_other")));
    await say(session, result("toolu_keep", "the port is 4711"));
    await say(session, result("toolu_other", "beside it"));
    await session.close();
    expect((await world.call("pin", "results", "toolu_keep")).out).toMatch(/^pinned: .*\npins {6}1, about \d+ tokens/);
    const again = await openedSession(world.deps, "results", "resume");
    await appendBoundary(world.deps, again, { summary: "ok", trigger: "manual" });
    const kept = JSON.stringify(again.view().messages);
    await again.close();
    expect(kept).toContain('"tool_use_id":"toolu_keep","content":"the port is 4711"');
    expect((await world.call("unpin", "results", "toolu_keep")).out).toMatch(/^unpinned: .*\npins {6}0,/);
    const last = await openedSession(world.deps, "results", "resume");
    await appendBoundary(world.deps, last, { summary: "ok", trigger: "manual" });
    expect(JSON.stringify(last.view().messages)).not.toContain("4711");
    await last.close();
  });

  it("refuses a result of which only a marker is left, and says what brings it back", async () => {
    const session = await openedSession(world.deps, "cleared", "create");
    await say(session, user("Look."));
    await say(session, reply("m1", call("toolu_gone")));
    await say(session, result("toolu_gone", "the port is 4711"));
    const drafts = [{ type: "clear", cause: "asked", results: [{ toolUse: "toolu_gone", shown: "[cleared]" }] }];
    await session.edit({ drafts, cause: "asked", nature: "reduced" });
    await session.close();
    const refused = await world.call("pin", "cleared", "toolu_gone");
    expectRefusal(refused, 5, "is cleared: only its marker would be pinned");
    const [, undo = ""] = /palimpsest (undo cleared \S+)\n$/.exec(refused.err) ?? [];
    expect((await world.call(...undo.split(" "))).code).toBe(0);
    expect((await world.call("pin", "cleared", "toolu_gone")).code).toBe(0);
  });

  it("over a tenth of the window the pin stays, and stderr names the largest", async () => {
    const session = await openedSession(world.deps, "large", "create");
    const large = await say(session, user("word ".repeat(30_000)));
    await session.close();
    const said = await world.call("pin", "large", large);
    expect(said.code).toBe(0);
    expect(said.err).toMatch(new RegExp(`^What is pinned has about 37,500 tokens, more than the 20,000 .* ${large} `));
  });

  it("refuses what the view does not show and what is not pinned; another tool's log is then not copied", async () => {
    const log = rawLog();
    log.add({ type: "user", message: { role: "user", content: "hello" } });
    const file = world.file("other.jsonl", log.entries);
    expectRefusal(await world.call("pin", file, "no-such-entry"), 3, "no message of the view is called no-such-entry");
    expectRefusal(await world.call("unpin", file, log.entries[0]?.uuid ?? ""), 3, "nothing pinned is called");
    const copied = await world.call("pin", file, log.entries[0]?.uuid ?? "");
    expect(copied).toMatchObject({ code: 0 });
    expect(copied.err).toContain("belongs to another tool; working on a copy");
  });
});
