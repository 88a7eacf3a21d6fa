import { describe, expect, it } from "vitest";
import {
  type AgentWishes,
  type CompactingAgent,
  compactingWorld,
  type CompactingWorld,
  hooksOf,
  summaryRequests,
  type WorldOptions,
  settingsFor,
} from "../../../../../test/fixture/compacting.ts";
import { append, user } from "../../../../../test/fixture/session.ts";
import { readTool, sentText } from "../../../../../test/scenario/support/clearing-world.ts";
import type { SummaryAnswer } from "../../../../../test/scenario/support/summary-answers.ts";
import { toUsd } from "../../cache/cost-ledger.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { compactTool } from "@palimpsest/cli/internal/tool/builtin-tools";
import { createCompactionRequests } from "@palimpsest/cli/internal/agent/tools/equip-session";
import { pastRequests } from "../past-costs.ts";
import { ConversationForks } from "../../loop/conversation-forks.ts";
import { unusableAnswersMax } from "../../layers/4-compact/limits.ts";
import { breakerFailuresMax, breakerRestRounds } from "./limits.ts";
import { countFailures } from "./breaker-state.ts";

type Compacted = Extract<LoopEvent, { kind: "compacted" }>;
const compactedIn = (events: readonly LoopEvent[]): readonly Compacted[] =>
  events.filter((event) => event.kind === "compacted");
const failedIn = (events: readonly LoopEvent[]) => events.filter((event) => event.kind === "compaction-failed");

/** So many rounds of work in one turn. */
async function working(
  rounds: number,
  {
    world: options = {},
    agent: wishes = {},
    answers = ["good"],
  }: { readonly world?: WorldOptions; readonly agent?: AgentWishes; readonly answers?: readonly SummaryAnswer[] } = {},
): Promise<{
  readonly world: CompactingWorld;
  readonly agent: CompactingAgent;
  readonly events: readonly LoopEvent[];
}> {
  const world = compactingWorld(options);
  const agent = await world.agent("create", wishes);
  world.script.answers = answers;
  world.script.left = rounds;
  return { world, agent, events: await agent.turn("Look at all the files.") };
}

/** From far below the threshold to over the hard limit in one round. */
const readsAtOnce = Array.from({ length: 24 }, (_, at) => ({
  type: "tool_use" as const,
  name: "read",
  input: { path: `/part-${at}`, lines: 60 },
}));

describe("at the threshold", () => {
  it("the conversation is compacted between two rounds, and goes on with the work", async () => {
    const { world, events } = await working(30);
    expect(compactedIn(events).map(({ trigger, cause, path }) => [trigger, cause, path])).toEqual([
      ["auto", "threshold", "fork"],
      ["auto", "threshold", "fork"],
    ]);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(world.script.rounds).toBe(31);
    expect(world.seen.every(({ answer }) => answer === "accepted")).toBe(true);
  });

  it("three failures in a row open the breaker: nobody is asked any more, and what is left is done without a model at the limit", async () => {
    const { world, agent, events } = await working(26, { answers: ["500"] });
    const failures = failedIn(events);
    expect(failures.map(({ reason, state }) => [reason, state])).toEqual([
      ["api_error", "trying"],
      ["api_error", "trying"],
      ["api_error", "degraded"],
    ]);
    expect(compactedIn(events)).toMatchObject([{ cause: "limit", path: "extractive" }]);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    // Rescued without a model: that says nothing for the summariser.
    expect(countFailures(agent.session.fold)).toBe(3);
    // Each path's three tries at first; once it has failed, one try each.
    expect(world.script.asked).toBe(3 + 3 + 2 + 2);
  });

  it("a summariser that is dead costs one try in twenty rounds once the breaker is open", async () => {
    const { world, agent, events } = await working(62, { answers: ["500"] });
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(compactedIn(events).map(({ path }) => path)).toEqual(["extractive", "extractive"]);
    const failures = countFailures(agent.session.fold);
    expect(failures).toBeLessThanOrEqual(breakerFailuresMax + Math.ceil(62 / breakerRestRounds));
    expect(world.script.asked).toBeLessThanOrEqual(3 + 3 + 2 * (failures - 1));
  });

  it("one that is back is asked again behind an open breaker, and closes it", async () => {
    const dead = Array.from({ length: 10 }, () => "500" as const);
    const { agent, events } = await working(50, { answers: [...dead, "good"] });
    expect(compactedIn(events).map(({ path }) => path)).toEqual(["extractive", "fork"]);
    expect(countFailures(agent.session.fold)).toBe(0);
  });

  it("is not paid a third time for a text of which it made no summary, however often one is due", async () => {
    const { world, events } = await working(26, { answers: ["ok"] });
    expect(failedIn(events).map(({ reason, state }) => [reason, state])).toEqual([["no_summary", "degraded"]]);
    expect(world.script.asked).toBe(unusableAnswersMax);
    expect(compactedIn(events)).toMatchObject([{ cause: "limit", path: "extractive" }]);
  });

  it("over the hard limit a summariser that fails is asked once, and then the session goes on without it", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    world.script.answers = ["refusal"];
    world.script.left = 3;
    world.script.instead.push(readsAtOnce);
    const events = await agent.turn("Look at all the files.");
    expect(compactedIn(events)).toMatchObject([{ cause: "limit", path: "extractive" }]);
    expect(failedIn(events)).toEqual([]);
    // By a plain call: the fork's request is over the limit too.
    expect(world.script.asked).toBe(1);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
  });

  it("over the hard limit what fails in every way is tried once", async () => {
    const { hooks } = hooksOf({ PreCompact: { blocked: { reason: "never" } } });
    const world = compactingWorld();
    const agent = await world.agent("create", { over: { hooks } });
    world.script.left = 3;
    world.script.instead.push(readsAtOnce);
    const events = await agent.turn("Look at all the files.");
    expect(failedIn(events)).toMatchObject([{ reason: "blocked" }]);
    expect(events.at(-1)).toMatchObject({ reason: "over-limit" });
  });

  it("over the hard limit a summariser that fails each time opens the breaker, although the session goes on without it", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    world.script.answers = ["500"];
    for (let jump = 0; jump < 6; jump += 1) {
      world.script.left = 1;
      world.script.instead.push(readsAtOnce);
      const events = await agent.turn("Look at all the files.");
      expect(compactedIn(events)).toMatchObject([{ cause: "limit", path: "extractive" }]);
    }
    expect(countFailures(agent.session.fold)).toBe(breakerFailuresMax);
    // By a plain call each: the fork's request is over the limit too.
    expect(world.script.asked).toBe(3 + 1 + 1);
  });

  it("a success ends the count of failures", async () => {
    const once = Array.from({ length: 6 }, () => "500" as const);
    const { agent, events } = await working(17, { answers: [...once, "good"] });
    expect(failedIn(events)).toHaveLength(1);
    expect(compactedIn(events)).toHaveLength(1);
    expect(countFailures(agent.session.fold)).toBe(0);
  });
});

describe("the agent's own request", () => {
  it("is honoured before the next request, with its note word for word behind the summary", async () => {
    const asks = createCompactionRequests(() => true);
    const world = compactingWorld();
    const agent = await world.agent("create", {
      tools: [readTool, compactTool({ compactionRequests: asks })],
      compacting: { requests: asks },
    });
    world.script.left = 5;
    const note = "NOTE: go on with /file-9, second block";
    world.script.instead.push(
      ...[0, 1, 2, 3].map((at) => [{ type: "tool_use" as const, name: "read", input: { path: `/f${at}`, lines: 60 } }]),
      [{ type: "tool_use", name: "compact", input: { note } }],
    );
    const events = await agent.turn("Look at the files.");
    expect(compactedIn(events)).toMatchObject([{ cause: "agent", trigger: "auto" }]);
    const next = sentText(world.seen.at(-1));
    expect(next.indexOf(note)).toBeGreaterThan(next.indexOf("Optional Next Step"));
    expect(next.indexOf("Optional Next Step")).toBeGreaterThan(0);
  });
});

describe("a request that the provider refuses as too long", () => {
  /** The agent believes in more than the server has. */
  const over = { world: { windowTokens: 16_000 }, agent: { windowTokens: 60_000 } };

  it("is not shown: the conversation is compacted and asked once more", async () => {
    const learned: unknown[] = [];
    const settings = { now: settingsFor({ windowTokens: 60_000 }) };
    const learn = (limit: { readonly limitTokens: number }): Promise<void> => {
      learned.push(limit);
      settings.now = settingsFor({ windowTokens: limit.limitTokens });
      return Promise.resolve();
    };
    const { world, events } = await working(16, {
      ...over,
      agent: { windowTokens: 60_000, over: { learn, settings: () => settings.now } },
    });
    expect(compactedIn(events)[0]).toMatchObject({ cause: "overflow" });
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(
      world.seen.filter(({ answer }) => typeof answer === "object" && answer.status === 400).length,
    ).toBeLessThanOrEqual(2);
    // What the refusal said of the window counts from then on: no other request is refused.
    expect(learned).toHaveLength(1);
    const refusedAt = world.seen.findLastIndex(({ answer }) => typeof answer === "object");
    expect(refusedAt).toBeLessThan(world.seen.length - 2);
  });

  it("is shown where the second try is refused as well", async () => {
    const world = compactingWorld({ windowTokens: 6_000 });
    const agent = await world.agent("create", { windowTokens: 60_000 });
    world.script.left = 2;
    await agent.turn("Look at two files.");
    const [entry] = await append(agent.session, user("some words of mine. ".repeat(1_000)));
    await agent.session.edit({ drafts: [{ type: "pin", entry }], cause: "asked", nature: "reduced" });
    const events = await agent.turn("And now?");
    expect(compactedIn(events)).toMatchObject([{ cause: "overflow" }]);
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "over-limit" });
    const asked = new Set(summaryRequests(world.seen));
    const refused = world.seen.filter((seen) => typeof seen.answer === "object" && !asked.has(seen));
    expect(refused).toHaveLength(2);
  });

  it("is shown at once where the policy never reacts", async () => {
    const { events } = await working(16, {
      ...over,
      agent: { windowTokens: 60_000, flags: [["policy", "claude-code-2.0"]] },
    });
    expect(compactedIn(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ reason: "over-limit" });
  });
});

describe("a fork", () => {
  it("over the threshold does not compact, and leaves its parent as it is", async () => {
    const { agent, world } = await working(12);
    const { conversation, deps, session } = agent;
    const view = session.view().messages;
    const files = [...conversation.files.entries()];
    world.script.left = 8;
    const outcome = await new ConversationForks({ deps, conversation }).run(
      {
        directive: "Look further.",
        source: "agents",
        roundsMax: 20,
        cacheWrite: "skip",
        permit: () => Promise.resolve({ kind: "allowed" }),
      },
      new AbortController().signal,
    );
    expect(outcome.usage.length).toBeGreaterThan(5);
    expect(summaryRequests(world.seen)).toEqual([]);
    expect(session.view().messages).toEqual(view);
    expect([...conversation.files.entries()]).toEqual(files);
    expect(session.fold.projection.boundaries).toEqual([]);
  });

  it("that writes the summary sends the pinned bytes, and they stand behind the boundary", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    world.script.left = 4;
    await agent.turn("PINNED: never touch /etc.");
    const entry = agent.session.fold.projection.items[0]?.entry;
    await agent.session.edit({ drafts: [{ type: "pin", entry }], cause: "asked", nature: "reduced" });
    await agent.compact();
    expect(sentText(summaryRequests(world.seen)[0])).toContain("PINNED: never touch /etc.");
    const said = agent.session.view().messages.flatMap(({ content }) => content);
    expect(said).toContainEqual({ type: "text", text: "PINNED: never touch /etc." });
  });
});

describe("what a compaction costs", () => {
  it.each<[string, readonly SummaryAnswer[], readonly string[]]>([
    ["fork", ["good"], ["fork"]],
    ["fork, then plain", ["tool-call", "good"], ["fork", "stream"]],
  ])("by %s is the simulator's bill, in the ledger and in the boundary", async (_, answers, paths) => {
    const { world, agent, events } = await working(17, { answers });
    expect(compactedIn(events)).toHaveLength(1);
    const bill = world.seen.reduce((sum, { costUsd }) => sum + costUsd, 0);
    expect(toUsd(agent.conversation.costs.session.totalNanos)).toBeCloseTo(bill, 9);
    const [boundary] = agent.session.fold.projection.boundaries;
    const calls = boundary?.edit.type === "boundary" ? (boundary.edit.metadata.calls ?? []) : [];
    expect(calls.map(({ path }) => path)).toEqual(paths);
    const forSummaries = summaryRequests(world.seen).reduce((sum, { costUsd }) => sum + costUsd, 0);
    const booked = calls.reduce((sum, { model, usage }) => sum + agent.conversation.costs.priceOf({ model, usage }), 0);
    expect(booked / 1e9).toBeCloseTo(forSummaries, 9);
    expect((compactedIn(events)[0]?.costNanos ?? 0) / 1e9).toBeCloseTo(forSummaries, 9);
  });

  it.each([
    ["refuses", () => Promise.resolve({ kind: "failed", why: "disk-full", message: "The disk is full." } as const)],
    ["breaks at", () => Promise.reject(new Error("EIO: i/o error"))],
  ])("where the disk %s the boundary is in the log all the same, and the view is as it was", async (_, put) => {
    const world = compactingWorld();
    const agent = await world.agent("create", { over: { blobs: { ...world.deps.blobs, put } } });
    world.script.left = 17;
    const events = await agent.turn("Look at all the files.");
    expect(failedIn(events)[0]).toMatchObject({ reason: "unwritten", state: "trying" });
    expect(agent.session.fold.projection.boundaries).toEqual([]);
    const booked = pastRequests({ entries: agent.session.fold.path.entries, session: agent.session.id });
    expect(booked.filter(({ source }) => source === "compact")).toHaveLength(world.script.asked);
    expect(world.script.asked).toBeGreaterThan(0);
  });
});
