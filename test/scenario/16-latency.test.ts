import { describe, expect, it } from "vitest";
import {
  type AgentWishes,
  type CompactingAgent,
  compactingWorld,
  type CompactingWorld,
  summaryRequests,
} from "../fixture/compacting.ts";
import { handClock } from "../fixture/hand-clock.ts";
import { append, user } from "../fixture/session.ts";
import { anthropicModel } from "../../packages/palimpsest/src/model/anthropic/client.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { MessagesRequest } from "../../packages/palimpsest/src/schema/wire/messages-request.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { SummaryPreparation } from "../../packages/palimpsest/src/context/compact/summary-preparation.ts";
import { compactDue } from "../../packages/palimpsest/src/context/compact/compact-due.ts";
import { compactionCallsIn } from "../../packages/palimpsest/src/context/past-costs.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { type CompactionWorld, compactionWorld } from "./support/compaction-world.ts";
import { asksForSummary } from "./support/summary-answers.ts";
import { refused } from "./support/whole-agent.ts";

type Of<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;
const only = <Kind extends LoopEvent["kind"]>(events: readonly LoopEvent[], kind: Kind): readonly Of<Kind>[] =>
  events.filter((event): event is Of<Kind> => event.kind === kind);

interface SlowWorld {
  readonly world: CompactingWorld;
  readonly agent: CompactingAgent;
  readonly clock: ReturnType<typeof handClock>;
  readonly said: string[];
  /** The user says something of their own, and the agent reads a file for it. A turn that waited would never end: time goes only by `pass`. */
  turn(): Promise<readonly LoopEvent[]>;
  /** Turns until this is so. */
  turnsUntil(isSo: (events: readonly LoopEvent[]) => boolean): Promise<readonly LoopEvent[]>;
  pass(seconds: number): Promise<void>;
}

/** A summariser that takes so long, while everything else takes no time. */
async function slowWorld(seconds: number, wishes: AgentWishes = {}): Promise<SlowWorld> {
  const clock = handClock();
  const world = compactingWorld({
    clock: { now: clock.now, advance: (by) => void clock.advance(by), sleep: () => Promise.resolve() },
  });
  const send = simulatorFetch(world.simulator);
  const model = anthropicModel({
    apiKey: "sk-test",
    now: clock.now,
    fetch: async (url, init) => {
      const request = (await new Request(url, init).json()) as MessagesRequest;
      if (asksForSummary(request)) {
        await clock.wait(millis(seconds * 1000), init?.signal ?? new AbortController().signal);
        init?.signal?.throwIfAborted();
      }
      return send(url, init);
    },
  });
  const over = { model, wait: clock.wait, ...wishes.over };
  const agent = await world.agent("create", { summaries: "ahead", ...wishes, over });
  const said: string[] = [];
  const turn = async (): Promise<readonly LoopEvent[]> => {
    const text = `Message ${said.length}: look at one more file.`;
    said.push(text);
    world.script.left = 1;
    const events = await agent.turn(text);
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    return events;
  };
  return {
    world,
    agent,
    clock,
    said,
    turn,
    turnsUntil: async (isSo) => {
      for (let turns = 0; turns < 60; turns += 1) {
        const events = await turn();
        if (isSo(events)) return events;
      }
      return expect.unreachable("never so");
    },
    pass: async (time) => {
      await settled();
      await clock.advance(time * 1000);
      await settled();
    },
  };
}

/** What asks the simulator has come as far as it comes while no time passes. */
async function settled(): Promise<void> {
  for (let ticks = 0; ticks < 100; ticks += 1) await new Promise((resolve) => setImmediate(resolve));
}

const isPreparing =
  ({ agent }: SlowWorld) =>
  () =>
    agent.preparation?.state === "preparing";
const used = ({ agent }: SlowWorld): number => agent.conversation.line.usedTokens;
const thresholds = ({ agent }: SlowWorld) => agent.deps.settings().thresholds;
const boundaries = ({ agent }: SlowWorld): number => agent.session.fold.projection.boundaries.length;
const logOf = ({ agent }: SlowWorld): string => JSON.stringify(agent.session.fold.path.entries);

/** Calls for summaries that the log tells of. */
const bookedIn = ({ agent }: SlowWorld) =>
  agent.session.fold.path.entries.flatMap((entry) => (entry.kind === "edit" ? compactionCallsIn(entry) : []));

/** How often each of these stands in what the model is sent next. */
function timesShown(slow: SlowWorld, texts: readonly string[]): readonly number[] {
  const shown = JSON.stringify(slow.agent.session.view().messages);
  return texts.map((text) => shown.split(text).length - 1);
}

const isAscending = (places: readonly number[]): boolean =>
  places.every((place, at) => at === 0 || place > (places[at - 1] ?? Infinity));

/** Where each of these stands in what the model is sent next. */
function placesOf(slow: SlowWorld, texts: readonly string[]): readonly number[] {
  const shown = JSON.stringify(slow.agent.session.view().messages);
  return texts.map((text) => shown.indexOf(text));
}

/** What is done to the conversation while a summary of it is made, or waits. */
const changes: readonly (readonly [name: string, change: (slow: SlowWorld) => Promise<unknown>])[] = [
  ["a boundary by hand", ({ agent }) => agent.compact({ summary: "By hand: what was read so far, and nothing else." })],
  [
    "an undo",
    async ({ agent }) => {
      const [pin = ""] = await append(agent.session, { type: "pin", entry: agent.session.fold.path.leaf?.id ?? "" });
      await append(agent.session, { type: "undo", edit: pin });
    },
  ],
  [
    "another branch",
    async ({ agent }) => {
      const first = agent.session.fold.path.entries.find(({ kind }) => kind === "assistant")?.id ?? null;
      await append(agent.session, { ...user("Something else instead."), parentUuid: first });
    },
  ],
];

describe("16. Latency: a summariser that takes 180 s", () => {
  it("keeps no user turn waiting while there is headroom, and what was said meanwhile stands once and in order behind the swap", async () => {
    const slow = await slowWorld(180);
    const begun = slow.clock.now();
    await slow.turnsUntil(isPreparing(slow));
    expect(used(slow)).toBeGreaterThanOrEqual(thresholds(slow).warning);
    expect(used(slow)).toBeLessThan(thresholds(slow).compact);
    const before = slow.said.length;
    await slow.turnsUntil(() => used(slow) > thresholds(slow).compact);
    expect(only(await slow.turn(), "no-headroom")).toEqual([]);
    const meanwhile = slow.said.slice(before);
    expect(meanwhile.length).toBeGreaterThan(3);
    expect(slow.clock.now()).toBe(begun);
    expect(boundaries(slow)).toBe(0);
    await slow.pass(180);
    expect(slow.agent.preparation?.state).toBe("ready");
    const events = await slow.turn();
    expect(only(events, "compacted")).toMatchObject([
      { trigger: "auto", cause: "threshold", path: "fork", made: "ahead" },
    ]);
    expect(slow.clock.now() - begun).toBe(180_000);
    const later = [...meanwhile, ...slow.said.slice(-1)];
    expect(timesShown(slow, later)).toEqual(later.map(() => 1));
    expect(isAscending(placesOf(slow, slow.said))).toBe(true);
    expect(timesShown(slow, slow.said)).not.toContain(0);
    expect(violations(slow.agent.session.view().messages, { end: "any" })).toEqual([]);
    expect(refused(slow.world.seen)).toEqual([]);
    expect(summaryRequests(slow.world.seen)).toHaveLength(1);
  });

  it("is given up at the hard limit: the deterministic summary is there within one tick", async () => {
    const slow = await slowWorld(180);
    await slow.turnsUntil(isPreparing(slow));
    const begun = slow.clock.now();
    const events = await slow.turnsUntil((seen) => only(seen, "compacted").length > 0);
    expect(only(events, "compacted")).toMatchObject([{ cause: "limit", path: "extractive" }]);
    expect(slow.clock.now()).toBe(begun);
    expect(slow.agent.preparation?.state).toBe("none");
    expect(timesShown(slow, slow.said)).not.toContain(0);
    await slow.turn();
    expect(refused(slow.world.seen)).toEqual([]);
  });

  describe.each(["preparing", "ready"] as const)("while it is %s", (state) => {
    it.each(changes)("is discarded where the prefix is changed by %s", async (_, change) => {
      const slow = await slowWorld(180);
      await slow.turnsUntil(isPreparing(slow));
      if (state === "ready") await slow.pass(180);
      expect(slow.agent.preparation?.state).toBe(state);
      await change(slow);
      expect(slow.agent.preparation?.take()).toEqual({ kind: "none" });
      expect(slow.agent.preparation?.news().at(-1)).toMatchObject({
        state: "dropped",
      });
      await slow.pass(180);
      expect(slow.agent.preparation?.state).toBe("none");
    });
  });

  it("leaves no trace where it is cancelled", async () => {
    const slow = await slowWorld(180);
    await slow.turnsUntil(isPreparing(slow));
    const before = logOf(slow);
    await slow.agent.preparation?.cancel();
    await slow.pass(180);
    expect(logOf(slow)).toBe(before);
    expect(slow.agent.preparation?.state).toBe("none");
  });

  it("leaves no trace where the session is closed meanwhile", async () => {
    const slow = await slowWorld(180);
    await slow.turnsUntil(isPreparing(slow));
    const before = logOf(slow);
    await slow.agent.session.close();
    expect(logOf(slow)).toBe(before);
  });

  it("is booked where it was paid for and is not used", async () => {
    const slow = await slowWorld(180);
    await slow.turnsUntil(isPreparing(slow));
    await slow.pass(180);
    await slow.agent.session.close();
    expect(bookedIn(slow)).toMatchObject([{ path: "fork" }]);
  });
});

describe("16. Latency: a summary that is ready", () => {
  const ready = async (wishes: AgentWishes = {}): Promise<SlowWorld> => {
    const slow = await slowWorld(180, wishes);
    await slow.turnsUntil(isPreparing(slow));
    await slow.pass(180);
    expect(slow.agent.preparation?.state).toBe("ready");
    return slow;
  };

  it("is booked where nobody listens when it is swapped in", async () => {
    const slow = await ready();
    const { agent } = slow;
    const ask = { cause: "threshold" } as const;
    const { signal } = new AbortController();
    for await (const event of compactDue(agent.deps, { conversation: agent.conversation, ask, signal })) {
      expect(event.kind).toBe("compaction-start");
      break;
    }
    expect(boundaries(slow)).toBe(0);
    expect(bookedIn(slow)).toHaveLength(1);
  });

  it("is taken for the agent's own request, with its note", async () => {
    const slow = await ready();
    const { agent } = slow;
    const ask = { cause: "agent", note: "Go on with file seven." } as const;
    const { signal } = new AbortController();
    const events: LoopEvent[] = [];
    for await (const event of compactDue(agent.deps, { conversation: agent.conversation, ask, signal }))
      events.push(event);
    expect(only(events, "compacted")).toMatchObject([{ cause: "agent", made: "ahead" }]);
    expect(timesShown(slow, [ask.note])).toEqual([1]);
    expect(summaryRequests(slow.world.seen)).toHaveLength(1);
  });

  it("is dropped where more came behind it than a quarter of the threshold", async () => {
    const slow = await ready();
    const many = { type: "tool_use" as const, name: "read", input: { path: "/many", lines: 500 } };
    slow.world.script.instead.push([many]);
    const events = [...(await slow.turn()), ...(slow.agent.preparation?.news() ?? [])];
    expect(only(events, "compacted")).toEqual([]);
    expect(only(events, "preparation")).toContainEqual(
      expect.objectContaining({ state: "dropped", because: expect.stringContaining("Too many") as string }),
    );
    expect(bookedIn(slow)).toHaveLength(1);
  });
});

describe("16. Latency: a summariser that takes 60 s", () => {
  it("never keeps a user turn waiting where there is headroom, however often it is asked", async () => {
    const slow = await slowWorld(60);
    const compacted: LoopEvent[] = [];
    for (let turns = 0; turns < 50; turns += 1) {
      const begun = slow.clock.now();
      compacted.push(...only(await slow.turn(), "compacted"));
      expect(slow.clock.now()).toBe(begun);
      await slow.pass(30);
    }
    expect(compacted.length).toBeGreaterThan(2);
    expect(compacted).toEqual(compacted.map(() => expect.objectContaining({ path: "fork", made: "ahead" }) as unknown));
    expect(timesShown(slow, slow.said)).not.toContain(0);
    expect(timesShown(slow, slow.said.slice(-3))).toEqual([1, 1, 1]);
    expect(summaryRequests(slow.world.seen)).toHaveLength(compacted.length);
    expect(refused(slow.world.seen)).toEqual([]);
  });

  it("is waited for where preparing is switched off", async () => {
    const slow = await slowWorld(60, { flags: [["off", "compact.background"]] });
    for (let turns = 0; turns < 60; turns += 1) {
      let isOver = false;
      const turn = slow.turn().finally(() => (isOver = true));
      await slow.pass(59);
      if (isOver) continue;
      await slow.pass(1);
      expect(only(await turn, "compacted")).toMatchObject([{ cause: "threshold", path: "fork" }]);
      return;
    }
    expect.unreachable("never waited");
  });
});

describe("16. Latency: an agent with everything picked", () => {
  it.each([
    ["fork", {}],
    ["notes", { PALIMPSEST_FLAG_NOTES: "1" }],
  ])("prepares its summary beside the work, by %s", async (path, flags) => {
    const variables = { PALIMPSEST_FLAG_COMPACT_BACKGROUND: "1", ...flags };
    const world = await compactionWorld({ windowTokens: 80_000, variables });
    const agent = await world.open();
    const { preparation, notes } = agent.context.conversation.compacting ?? {};
    if (!(preparation instanceof SummaryPreparation)) return expect.unreachable("nothing is prepared");
    const [compacted] = await untilCompacted(world, agent, async () => {
      await notes?.settle(new AbortController().signal);
      await expect.poll(() => preparation.state, { timeout: 10_000 }).not.toBe("preparing");
    });
    expect(compacted).toMatchObject({ trigger: "auto", path, made: "ahead" });
    expect(refused(world.seen)).toEqual([]);
    for (const text of world.said) expect(JSON.stringify(agent.session.view().messages)).toContain(text);
    await agent.close();
  });
});

/** Turn by turn, with time in between for what is made beside them. */
async function untilCompacted(world: CompactionWorld, agent: Agent, between: () => Promise<void>) {
  for (let turns = 1; turns <= 40; turns += 1) {
    const events = await world.turn(agent, { text: `Do part ${turns} of it.`, rounds: 3 });
    const compacted = only(events, "compacted");
    if (compacted.length > 0) return compacted;
    await between();
  }
  return expect.unreachable("never compacted");
}
