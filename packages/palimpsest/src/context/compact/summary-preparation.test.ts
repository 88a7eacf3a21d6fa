import { describe, expect, it, test } from "vitest";
import {
  type CompactingWorld,
  compactingWorld,
  hooksOf,
  summaryRequests,
} from "../../../../../test/fixture/compacting.ts";
import { append, openedForTest, reply, testDeps, text, user } from "../../../../../test/fixture/session.ts";
import type { SummaryAnswer } from "../../../../../test/scenario/support/summary-answers.ts";
import { type EntryId, entryId } from "../../schema/brand.ts";
import type { Fork } from "../../ports/fork.ts";
import type { HookEvent, HookOutcome } from "../../ports/hooks.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { Draft } from "../../transcript/draft.ts";
import { preparationRestRounds } from "./limits.ts";
import { isChangedSince } from "./summary-preparation.ts";
import { compactionCallsIn } from "../past-costs.ts";
import { countFailures } from "./breaker-state.ts";

const only = <Kind extends LoopEvent["kind"]>(events: readonly LoopEvent[], kind: Kind) =>
  events.filter((event): event is Extract<LoopEvent, { kind: Kind }> => event.kind === kind);

/** Rounds of work in one turn, with summaries that are made beside it. */
async function working(
  rounds: number,
  {
    answers = ["good"],
    ...wishes
  }: { readonly answers?: readonly SummaryAnswer[] } & Parameters<ReturnType<typeof compactingWorld>["agent"]>[1] = {},
) {
  const world = compactingWorld();
  const agent = await world.agent("create", { summaries: "ahead", ...wishes });
  world.script.answers = answers;
  world.script.left = rounds;
  return { world, agent, events: await agent.turn("Look at all the files.") };
}

describe("a summary that is prepared", () => {
  it("is swapped in between two rounds of one turn, with nothing of the work lost", async () => {
    const { world, agent, events } = await working(24);
    expect(only(events, "compacted")).toMatchObject([{ cause: "threshold", path: "fork", made: "ahead" }]);
    expect(only(events, "preparation").slice(0, 2)).toMatchObject([{ state: "preparing" }, { state: "ready" }]);
    expect(world.script.rounds).toBe(25);
    expect(world.seen.every(({ answer }) => answer === "accepted")).toBe(true);
    const [boundary] = agent.session.fold.projection.boundaries;
    expect(boundary?.edit).toMatchObject({ metadata: { made: "ahead", cause: "threshold" } });
  });

  it("is asked for as a fork of what was sent, which is in the cache", async () => {
    const { agent } = await working(24);
    const [boundary] = agent.session.fold.projection.boundaries;
    const calls = boundary?.edit.type === "boundary" ? (boundary.edit.metadata.calls ?? []) : [];
    expect(calls).toMatchObject([{ path: "fork", usage: { cache_read_input_tokens: expect.any(Number) as number } }]);
    const { cache_read_input_tokens: read, input_tokens: uncached } = calls[0]?.usage ?? {};
    expect(Number(read)).toBeGreaterThan(4 * Number(uncached));
  });

  it("counts as a failure where nothing comes of it, until no model is asked any more", async () => {
    const { events } = await working(26, { answers: ["500"] });
    expect(only(events, "compaction-failed").map(({ reason, state }) => [reason, state])).toEqual([
      ["api_error", "trying"],
      ["api_error", "trying"],
      ["api_error", "degraded"],
    ]);
    expect(only(events, "compacted")).toMatchObject([{ cause: "limit", path: "extractive" }]);
  });

  it("is no failure where a hook does not allow it", async () => {
    const { hooks, told } = hooksOf({ PreCompact: { blocked: { reason: "never" } } });
    const { agent, events } = await working(12, { over: { hooks } });
    expect(only(events, "compaction-failed")[0]).toMatchObject({ reason: "blocked" });
    expect(countFailures(agent.session.fold)).toBe(0);
    const asked = told.filter(({ name }) => name === "PreCompact").length;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(Math.ceil(12 / preparationRestRounds));
  });
});

describe("a preparation", () => {
  /** A fork that answers only some time after it was told to stop, and is paid for. */
  const late = (world: CompactingWorld): Fork => ({
    model: world.model,
    run: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () =>
          setTimeout(
            () => resolve({ kind: "over", why: "aborted", usage: [{ input_tokens: 7, output_tokens: 1 }] }),
            20,
          ),
        );
      }),
  });

  it("that is dropped while its answer is on the way is booked before the session is closed", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create", { summaries: "ahead", compacting: { fork: late(world) } });
    world.script.left = 14;
    await agent.turn("Look at all the files.");
    expect(agent.preparation?.state).toBe("preparing");
    const first = agent.session.fold.path.entries.find(({ kind }) => kind === "assistant")?.id ?? null;
    await append(agent.session, { ...user("Something else instead."), parentUuid: first });
    expect(agent.preparation?.take()).toEqual({ kind: "none" });
    await agent.session.close();
    const edits = agent.session.fold.path.entries.flatMap((entry) => (entry.kind === "edit" ? [entry] : []));
    expect(edits.flatMap(compactionCallsIn)).toHaveLength(1);
  });

  it("is nobody's business under a policy that makes its summaries when they are due, whatever the switch says", async () => {
    const flags = [
      ["policy", "claude-code-2.1"],
      ["on", "compact.background"],
    ] as const;
    const { events } = await working(30, { flags });
    expect(only(events, "preparation")).toEqual([]);
    expect(only(events, "compacted").length).toBeGreaterThan(0);
    for (const compacted of only(events, "compacted")) expect(compacted.made).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
  });

  it("does not sum up what joins the last message while its hooks run", async () => {
    const hooked = Promise.withResolvers<void>();
    const quiet = { context: [], messages: [], warnings: [] };
    const fire = async ({ name }: HookEvent): Promise<HookOutcome> => {
      if (name === "PreCompact") await hooked.promise;
      return quiet;
    };
    const world = compactingWorld();
    const agent = await world.agent("create", { summaries: "ahead", over: { hooks: { fire } } });
    world.script.left = 12;
    await agent.turn("Look at all the files.");
    expect(agent.preparation?.state).toBe("preparing");
    await append(agent.session, user("Said while the hooks ran."));
    hooked.resolve();
    await expect.poll(() => agent.preparation?.state).toBe("ready");
    const [asked] = summaryRequests(world.seen);
    expect(JSON.stringify(asked?.body)).not.toContain("Said while the hooks ran.");
  });
});

test.each<[string, boolean, (first: EntryId, last: EntryId) => Draft]>([
  ["a message", false, () => user("more")],
  ["a result that is cleared", false, () => ({ type: "clear", results: [], cause: "price" })],
  ["a deletion in the cache", false, () => ({ type: "server-edits", deleted: [] })],
  ["a pin", false, (first) => ({ type: "pin", entry: first })],
  ["a setting", false, () => ({ type: "setting", name: "x", value: 1 })],
  ["a boundary", true, () => ({ type: "system", subtype: "compact_boundary", compactMetadata: { trigger: "manual" } })],
  ["messages that are hidden", true, (first) => ({ type: "snip", entries: [first] })],
  ["a collapse", true, (first, last) => ({ type: "collapse", span: { from: first, to: last }, shown: "…" })],
  ["an undo", true, (first) => ({ type: "undo", edit: first })],
  ["a branch that leaves it", true, (first) => ({ ...user("other"), parentUuid: first })],
])("behind a summary %s changes what it stands for: %s", async (_, expected, draft) => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const ids = await append(session, user("begin"), reply("m1", text("done")), user("go on"), reply("m2", text("yes")));
  const leaf = session.fold.path.leaf?.id ?? null;
  await append(session, draft(ids[0] ?? entryId(""), ids.at(-1) ?? entryId("")));
  expect(isChangedSince(session.fold, leaf)).toBe(expected);
});
