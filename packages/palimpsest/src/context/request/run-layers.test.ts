import { describe, expect, it } from "vitest";
import {
  type ClearingAgent,
  clearedIn,
  clearingWorld,
  sentText,
  type WorldAgent,
} from "../../../../../test/scenario/support/clearing-world.ts";
import { refused } from "../../../../../test/scenario/support/whole-agent.ts";
import { say, user } from "../../../../../test/fixture/session.ts";
import { pipelineState } from "./pipeline-state.ts";
import { findShownResults } from "../read-files.ts";

const sixMinutes = 6 * 60_000;

function clearableOf({ conversation }: ClearingAgent) {
  const { cache } = conversation;
  const line = conversation.line.editable;
  if (cache === undefined || line === undefined) throw new Error("nothing can be cleared");
  return { conversation, cache, line };
}

const stateOf = (agent: ClearingAgent) =>
  pipelineState({
    ...clearableOf(agent),
    settings: agent.deps.settings(),
    at: agent.deps.now(),
    opens: "nothing",
    offers: new Set(),
  });

describe("what the layers see before a request", () => {
  it("plans of one conversation share what they remember, by a rule that stays the same", async () => {
    const agent = await clearingWorld().agent("create");
    const [one, other] = [stateOf(agent), stateOf(agent)];
    expect(one.planner).toBeDefined();
    expect(other.planner).toBe(one.planner);
    expect(other.policy.clear.byPrice).toBe(one.policy.clear.byPrice);
  });

  it.each(["snip", "collapse"])("what the user brought back from a %s stays as what is pinned does", async (type) => {
    const agent = await clearingWorld().agent("create");
    const [first, second] = [await say(agent.session, user("One.")), await say(agent.session, user("Two."))];
    const span = { from: first, to: second };
    const draft = type === "snip" ? { type, entries: [first, second] } : { type, span, shown: "Two things were said." };
    const appended = await agent.session.append(draft);
    if (appended.kind === "failed") throw new Error(appended.message);
    expect([...stateOf(agent).pins]).toEqual([]);
    await agent.session.append({ type: "undo", edit: appended.entries[0] });
    expect([...stateOf(agent).pins]).toEqual([first, second]);
  });
});

const memory = (content: string) => ({
  type: "attachment",
  attachment: { type: "nested_memory", path: "A.md", content },
});

describe("memories that go with a clearing", () => {
  it("on a cold cache none within a prefix that still lives, which can be read afterwards", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create", { clearsBy: "patient" });
    await say(agent.session, user("Hello."));
    await agent.session.append(memory("The first rule."));
    await agent.turn("read 3 × 200");
    await agent.session.append(memory("The second rule."));
    await agent.turn("read 3 × 200");
    world.simulator.clock.advance(sixMinutes);
    const { cache, line } = clearableOf(agent);
    const { headTokens } = line.inventory;
    cache.prefixes.cut(0);
    cache.prefixes.sent({ at: agent.deps.now(), written: [{ upToTokens: headTokens, lifetime: "1h" }], refreshed: [] });
    const [cleared] = clearedIn(await agent.turn("And now?"));
    expect(cleared?.because).toContain("none of this is in the cache");
    const sent = sentText(world.seen.at(-1));
    expect([sent.includes("The first rule."), sent.includes("The second rule.")]).toEqual([true, false]);
    expect(cache.prefixes.upTo(headTokens, agent.deps.now())).toBe(headTokens);
  });

  it("where nothing lives, also those before the oldest result, and the cut is there", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create");
    await say(agent.session, user("Hello."));
    await agent.session.append(memory("The first rule."));
    await agent.turn("read 6 × 200");
    world.simulator.clock.advance(sixMinutes);
    const cuts: number[] = [];
    const { cache } = clearableOf(agent);
    const cut = cache.cut.bind(cache);
    cache.cut = (made) => {
      cuts.push(made.offset);
      cut(made);
    };
    await agent.turn("And now?");
    expect(sentText(world.seen.at(-1)).includes("The first rule.")).toBe(false);
    expect(cuts).toEqual([expect.any(Number)]);
    expect(cuts[0]).toBeLessThan(10);
  });
});

describe("files that were read", () => {
  it.each<[string, WorldAgent, string]>([
    ["delete-in-cache", { clearsBy: "patient" }, "read 8 × 60"],
    ["snip", { flags: [["policy", "truncate"]] }, "read 30 × 400"],
  ])("count as unread once a %s has taken their reads away, and no others", async (what, wishes, words) => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", wishes);
    const { files } = agent.conversation;
    await agent.turn("read 8 × 60");
    const read = [...findShownResults(agent.session.fold)];
    for (const shownBy of read) files.set(`/${shownBy}`, { hash: "h", modifiedMs: 1, shownBy });
    const events = await agent.turn(words);
    expect(clearedIn(events).map((event) => event.what)).toContain(what);
    const shown = findShownResults(agent.session.fold);
    const left = [...files.entries()].map(([, { shownBy }]) => shownBy);
    expect(left).toEqual(read.filter((toolUse) => shown.has(toolUse)));
    expect(left.length).toBeLessThan(read.length);
    expect(refused(world.seen)).toEqual([]);
  });
});

describe("what the server offers", () => {
  it("nobody waits for it who aborts the turn", async () => {
    const world = clearingWorld();
    const { deps, session } = await world.agent("create");
    await session.close();
    const asked = Promise.withResolvers<undefined>();
    const describeNever = (): Promise<undefined> => {
      asked.resolve(undefined);
      return new Promise(() => undefined);
    };
    const model = { provider: deps.model.provider, send: deps.model.send.bind(deps.model), describe: describeNever };
    const agent = await world.agent("resume", { flags: [["policy", "api"]], over: { model } });
    const leaving = new AbortController();
    const turn = agent.turn("Hello.", leaving.signal);
    await asked.promise;
    leaving.abort();
    expect((await turn).at(-1)).toMatchObject({ kind: "turn-end", reason: "aborted" });
    expect(agent.conversation.cache?.server.offers).toBeUndefined();
  });
});
