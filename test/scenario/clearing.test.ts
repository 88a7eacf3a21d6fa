import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConversationForks } from "../../packages/palimpsest/src/loop/conversation-forks.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { expand } from "../../packages/palimpsest/src/session/expand.ts";
import type { Blobs } from "../../packages/palimpsest/src/ports/blobs.ts";
import { plainClearMarker } from "../../packages/palimpsest/src/schema/edit.ts";
import type { EditEntry } from "../../packages/palimpsest/src/schema/entry.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Usage } from "../../packages/palimpsest/src/schema/usage.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { testSession } from "../fixture/session.ts";
import {
  type ClearingAgent,
  type ClearingWorld,
  clearedIn,
  clearingWorld,
  fileOf,
  sentText,
  usagesIn,
} from "./support/clearing-world.ts";
import { agentWorld, firstBreak, refused } from "./support/whole-agent.ts";

const marker = "Old tool result cleared";
const sixMinutes = 6 * 60_000;

const viewOf = ({ session }: ClearingAgent): string => JSON.stringify(session.view().messages);
const clearEdits = ({ session }: ClearingAgent): readonly EditEntry[] =>
  session.fold.path.entries.filter((entry): entry is EditEntry => entry.kind === "edit" && entry.edit.type === "clear");

/** Six large results, too few for a cut that pays while the cache is warm, and then so long a pause that the next turn clears. */
async function pausedWorld(
  world: ClearingWorld = clearingWorld(),
  lines = 200,
): Promise<{ world: ClearingWorld; agent: ClearingAgent }> {
  const agent = await world.agent("create");
  await agent.turn(`read 6 × ${lines}`);
  world.simulator.clock.advance(sixMinutes);
  return { world, agent };
}

describe("clearing on a cold cache", () => {
  it("precedes the first request after the cache expired, which reads nothing; the next one reads all of it", async () => {
    const { world, agent } = await pausedWorld();
    expect(sentText(world.seen.at(-1))).not.toContain(marker);
    const events = await agent.turn("And now?");
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.indexOf("cleared")).toBeGreaterThan(-1);
    expect(kinds.indexOf("cleared")).toBeLessThan(kinds.indexOf("request-start"));
    const [cold] = clearedIn(events);
    expect(cold).toMatchObject({ what: "clear", trigger: "clear.price", count: 4 });
    expect(cold?.tokensAfter).toBe((cold?.tokensBefore ?? 0) - (cold?.tokensSaved ?? 0));
    expect(cold?.because).toContain("the cache is cold");
    expect(sentText(world.seen.at(-1)).split(marker)).toHaveLength(5);
    const [after] = usagesIn(events);
    expect(after?.cacheRead).toBe(0);
    const [next] = usagesIn(await agent.turn("And then?"));
    expect(next?.cacheRead).toBe(after?.cacheWrite);
    expect(refused(world.seen)).toEqual([]);
  });

  it("makes the request cheaper at once, by what the receipt says", async () => {
    const [clearing, leaving] = [await pausedWorld(), clearingWorld()];
    const other = await leaving.agent("create", { flags: [["policy", "none"]] });
    await other.turn("read 6 × 200");
    leaving.simulator.clock.advance(sixMinutes);
    const events = await clearing.agent.turn("And now?");
    const [price] = clearedIn(events).map((event) => event.price);
    const saved = inputCost(usagesIn(await other.turn("And now?"))[0]) - inputCost(usagesIn(events)[0]);
    expect(saved).toBeGreaterThan(0);
    expect(-(price?.now ?? 0) / saved).toBeCloseTo(1, 1);
  });

  it("saves each result first: its marker names the tool that reads and the id, which brings it back", async () => {
    const { world, agent } = await pausedWorld();
    await agent.turn("And now?");
    const [edit] = clearEdits(agent);
    if (edit?.edit.type !== "clear") throw new Error("nothing was cleared");
    const [first] = edit.edit.results;
    expect(first?.shown).toContain(`recall ${first?.toolUse}`);
    const source = await world.deps.transcripts.openForReading(testSession);
    if (source === undefined || first === undefined) throw new Error("no session");
    const found = await expand(world.deps, source, first.toolUse);
    expect(found.kind === "result" ? new TextDecoder().decode(found.bytes) : found).toBe(fileOf("/file-0", 200));
  });

  it("a disk that refuses leaves the plain marker, and the turn goes on", async () => {
    const blobs: Blobs = {
      ...memoryBlobs(),
      put: () => Promise.resolve({ kind: "failed", why: "disk-full", message: "no space" }),
    };
    const { world, agent } = await pausedWorld(clearingWorld({ deps: { blobs } }));
    const events = await agent.turn("And now?");
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "clear-unsaved" }));
    expect(sentText(world.seen.at(-1))).toContain(plainClearMarker);
  });

  it("forgets files whose reads were cleared, and no others", async () => {
    const { agent } = await pausedWorld();
    const { files } = agent.conversation;
    const results = agent.session
      .view()
      .messages.flatMap(({ content }) =>
        content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])),
      );
    for (const [at, shownBy] of results.entries()) files.set(`/file-${at}`, { hash: "h", modifiedMs: 1, shownBy });
    await agent.turn("And now?");
    expect([...files.entries()].map(([path]) => path)).toEqual(["/file-4", "/file-5"]);
  });

  it("an undo brings the view back byte for byte, and what the user brought back is not cleared again", async () => {
    const { world, agent } = await pausedWorld(clearingWorld(), 900);
    const before = viewOf(agent);
    await agent.turn("And now?");
    const said = JSON.stringify(agent.session.view().messages.slice(-2));
    const options = { mode: "path", blockingTokens: tokens(900_000), thinking: "free" } as const;
    expect(await undo(agent.session, options)).toMatchObject({ kind: "undone" });
    expect(viewOf(agent)).toBe(`${before.slice(0, -1)},${said.slice(1)}`);
    world.simulator.clock.advance(sixMinutes);
    expect(clearedIn(await agent.turn("Again.")).flatMap(({ count }) => count)).toEqual([1]);
    expect(sentText(world.seen.at(-1)).split(marker)).toHaveLength(2);
    await agent.session.close();
  });

  it("what is pinned stays", async () => {
    const { world, agent } = await pausedWorld();
    const entry = agent.session.fold.projection.items.find(({ blocks }) => blocks[0]?.type === "tool_result")?.entry;
    await agent.session.append({ type: "pin", entry });
    const events = await agent.turn("And now?");
    expect(clearedIn(events)).toMatchObject([{ count: 3 }]);
    expect(sentText(world.seen.at(-1))).toContain("/file-0 holds line 7 ");
  });

  it("a fork begins with what its parent shows, and clears nothing itself", async () => {
    const { world, agent } = await pausedWorld();
    await agent.turn("And now?");
    const edits = clearEdits(agent).length;
    world.simulator.clock.advance(sixMinutes);
    const forks = new ConversationForks(agent);
    const task = {
      source: "notes",
      directive: "Sum up.",
      roundsMax: 1,
      cacheWrite: "write",
      permit: () => Promise.resolve({ kind: "allowed" as const }),
    } as const;
    expect(await forks.run(task, new AbortController().signal)).toMatchObject({ kind: "answered" });
    expect(firstBreak(world.seen.slice(-2))).toBeUndefined();
    expect(clearEdits(agent)).toHaveLength(edits);
  });

  it("whoever opens the session again sees the same, and knows whether the cache is cold", async () => {
    const { world, agent } = await pausedWorld(clearingWorld(), 900);
    await agent.turn("And now?");
    const view = viewOf(agent);
    await agent.session.close();
    const again = await world.agent("resume");
    expect(viewOf(again)).toBe(view);
    for (const { because } of clearedIn(await again.turn("read 4 × 900"))) expect(because).not.toContain("cold");
    await again.session.close();
    world.simulator.clock.advance(sixMinutes);
    const later = await world.agent("resume");
    const [cold] = clearedIn(await later.turn("Go on."));
    // The head was written for an hour.
    expect(cold?.because).toContain("none of this is in the cache");
    expect(refused(world.seen)).toEqual([]);
  });
});

/** In input tokens: what one uncached token costs is 1. */
const inputCost = (usage: Usage | undefined): number =>
  usage === undefined ? 0 : usage.input + 1.25 * usage.cacheWrite + 0.1 * usage.cacheRead;

/** One large result, and then round after round that adds little. */
async function longTurn(flags: readonly (readonly [string, string])[] = []): Promise<{
  readonly world: ClearingWorld;
  readonly agent: ClearingAgent;
  readonly events: readonly LoopEvent[];
}> {
  const world = clearingWorld();
  const agent = await world.agent("create", { flags, clearsBy: "patient" });
  const events = [...(await agent.turn("read 1 × 200")), ...(await agent.turn("read 40 × 2"))];
  return { world, agent, events };
}

describe("clearing on a warm cache", () => {
  it("fires once the rent has paid for it, and the next request costs what the receipt says", async () => {
    const [clearing, leaving] = [await longTurn(), await longTurn([["policy", "none"]])];
    const [first, ...more] = clearedIn(clearing.events);
    expect(first).toMatchObject({ what: "clear", count: 1, trigger: "clear.price" });
    expect(more).toEqual([]);
    expect(first?.because).toMatch(
      /^keeps [\d,]+ tokens of \d+ results? out of each request, about \$[\d.]+ over the next 20, for .*\$[\d.]+ now/,
    );
    const at = usagesIn(
      clearing.events.slice(
        0,
        clearing.events.findIndex((event) => event === first),
      ),
    ).length;
    expect(at).toBeGreaterThan(4);
    const [with_, without] = [usagesIn(clearing.events)[at], usagesIn(leaving.events)[at]];
    const extra = inputCost(with_) - inputCost(without);
    // What is written again and what is not read any more nearly cancel out: each is right to a tenth.
    const { now = 0, perRound = 0 } = first?.price ?? {};
    expect(Math.abs(extra - now)).toBeLessThan(0.1 * (now + 2 * perRound));
    const [later, left] = [usagesIn(clearing.events)[at + 1], usagesIn(leaving.events)[at + 1]];
    expect((inputCost(left) - inputCost(later)) / perRound).toBeCloseTo(1, 1);
    expect(clearing.events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
  });

  it("the price, the arithmetic and the words are in the log with the edit", async () => {
    const { world } = await longTurn();
    const source = await world.deps.transcripts.openForReading(testSession);
    const bytes = await source?.read({ start: 0, end: source.size });
    const lines = new TextDecoder().decode(bytes).trimEnd().split("\n");
    const edit = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ type }) => type === "clear");
    expect(edit).toMatchObject({
      cause: "price",
      because: expect.stringContaining("out of each request") as string,
      price: { why: "warm", rentCost: expect.any(Number) as number },
      receipt: {
        because: expect.stringContaining("out of each request") as string,
        figures: { rent: expect.any(Number) as number, neededRent: expect.any(Number) as number, horizonRounds: 20 },
        price: { writeRate: 1.25, readRate: 0.1 },
      },
    });
  });

  it("settings can add tools to those whose results may be cleared", async () => {
    const world = await agentWorld({});
    await mkdir(world.home, { recursive: true });
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ clearableTools: ["mcp__docs__search"] }));
    const agent = await world.open({ kind: "new" }, "claude-opus-5");
    const clearable = ["read", "mcp__docs__search", "mcp__docs__other", "todo"].map((tool) =>
      agent.session.inventory?.isClearable(tool),
    );
    await agent.close();
    expect(clearable).toEqual([true, true, false, false]);
  });

  const off = ["clear.size", "clear.idle", "clear.cacheEdits", "clear.api"].map((name) => ["off", name] as const);
  it.each(["palimpsest", "claude-code-2.0", "claude-code-2.1", "opencode", "mask"])(
    "switched off, %s rewrites nothing, warm or cold",
    async (policy) => {
      const world = clearingWorld();
      const agent = await world.agent("create", { flags: [["policy", policy], ...off] });
      const events = await agent.turn("read 20 × 400");
      world.simulator.clock.advance(2 * 60 * sixMinutes);
      events.push(...(await agent.turn("And now?")));
      expect(clearedIn(events)).toEqual([]);
      expect(firstBreak(world.seen)).toBeUndefined();
    },
  );

  it.each(["claude-code-2.0", "mask"])("%s clears in the same session where it is on", async (policy) => {
    const world = clearingWorld();
    const agent = await world.agent("create", { flags: [["policy", policy]] });
    expect(clearedIn(await agent.turn("read 20 × 400")).length).toBeGreaterThan(0);
    expect(refused(world.seen)).toEqual([]);
  });
});
