import { describe, expect, it } from "vitest";
import {
  callTokens,
  headerTokensMade,
  type MadeRound,
  madeRecording,
  markerTokens,
} from "../../../test/fixture/replay/made-recording.ts";
import { replayed } from "../../../test/fixture/replay/replayed.ts";

/** The fixture's, and the usual prices. */
const header = headerTokensMade;
const [read, write] = [0.1, 1.25];
const reply = 50;
const late = 6 * 60_000;

const rounds = (count: number, round: MadeRound = {}): readonly MadeRound[] =>
  Array.from({ length: count }, () => round);
const answered = (...results: readonly number[]): MadeRound => ({ results });

describe("the money of a replay", () => {
  it("is r·read + w·written, where every request goes on from the one before", async () => {
    const { sent, ...outcome } = await replayed(madeRecording([{}, { said: 200 }, { said: 300 }]), "never");
    const [first, second, third] = [header + 100, header + 100 + reply + 200, header + 100 + reply + 200 + reply + 300];
    expect(outcome.contextByRound).toEqual([first, second, third]);
    expect(outcome).toMatchObject({ calls: 3, edits: 0, compactions: 0, refused: 0, refetched: 0 });
    expect(outcome.cacheWriteTokens).toBe(third);
    expect(outcome.cacheReadTokens).toBe(first + second);
    expect(outcome.inputCost).toBeCloseTo(write * third + read * (first + second), 9);
    expect(outcome.cost).toBe(outcome.inputCost);
    expect(sent.map(({ kind, round }) => [kind, round])).toEqual([
      ["round", 0],
      ["round", 1],
      ["round", 2],
    ]);
  });

  it("writes everything again after a gap that is longer than the lifetime", async () => {
    const recording = madeRecording([{}, { said: 200, afterMillis: late }]);
    const [first, second] = [header + 100, header + 100 + reply + 200];
    expect((await replayed(recording, "never")).inputCost).toBeCloseTo(write * (first + second), 9);
    expect((await replayed(recording, "never", { prices: ["1h"] })).inputCost).toBeCloseTo(
      2 * second + read * first,
      9,
    );
  });

  it.each([
    ["only another session has it", [], 0],
    ["another session shares the header", ["header-shared"], 4_000],
  ] as const)(
    "reads of the header what is cached before the first request, where %s",
    async (_, cacheEvents, shared) => {
      const made = (round: MadeRound) => madeRecording([round], { sharedTokens: 4_000 });
      for (const policy of ["never", "palimpsest"]) {
        const { inputCost, headerCost } = await replayed(made({ cacheEvents }), policy);
        expect(inputCost).toBeCloseTo(read * shared + write * (header + 100 - shared), 9);
        expect(headerCost).toBeCloseTo(read * shared + write * (header - shared), 9);
      }
    },
  );

  it("makes a clearing free that comes before the first request after a gap", async () => {
    const recording = madeRecording([{}, answered(5_000), ...rounds(4), { said: 10, afterMillis: late }]);
    const cleared = await replayed(recording, "cold");
    const kept = await replayed(recording, "never");
    const saved = 5_000 - markerTokens;
    expect(cleared).toMatchObject({ edits: 1, refetched: 0 });
    expect(kept.contextByRound.at(-1)).toBe((cleared.contextByRound.at(-1) ?? 0) + saved);
    expect(kept.inputCost - cleared.inputCost).toBeCloseTo(write * saved, 9);
  });

  it("lets nothing go while the cache is warm, where only a cold one is the time", async () => {
    expect((await replayed(madeRecording([{}, answered(5_000), ...rounds(40)]), "cold")).edits).toBe(0);
  });

  it("charges a warm clearing with what survives behind it, under marks that are kept at the cut", async () => {
    const recording = madeRecording([{}, answered(50_000), ...rounds(12)]);
    const kept = await replayed(recording, "never");
    const { edits, contextByRound, inputCost } = await replayed(recording, "rule", { refetch: "free" });
    expect(edits).toBe(1);
    const at = contextByRound.findIndex((tokens, round) => tokens < (kept.contextByRound[round] ?? 0));
    const behind = (contextByRound[at] ?? 0) - (header + 100 + reply + callTokens);
    const saved = 50_000 - markerTokens;
    // Had it stayed: what is new written, the rest read. As it is: all behind the cut written.
    const fresh = (contextByRound[at] ?? 0) - ((contextByRound[at - 1] ?? 0) - saved);
    const difference = read * saved * (contextByRound.length - at) - (write - read) * (behind - fresh);
    expect(kept.inputCost - inputCost).toBeCloseTo(difference, 6);
  });

  it.each(["never", "palimpsest"])(
    "chooses the lifetime under `auto` only where marks are planned: %s",
    async (policy) => {
      // Every second gap is one that only an hour outlasts.
      const pair: readonly MadeRound[] = [{ said: 100 }, { said: 100, afterMillis: late }];
      const recording = madeRecording(rounds(15).flatMap(() => pair));
      const lifetimes = (await replayed(recording, policy, { prices: ["auto"] })).sent.map(
        ({ marks }) => marks.at(-1)?.[1],
      );
      expect(lifetimes.includes("1h")).toBe(policy === "palimpsest");
    },
  );
});

describe("a result that was cleared and is needed", () => {
  const made = (needed: readonly number[]) =>
    madeRecording([{}, answered(5_000), ...rounds(4), { said: 10, afterMillis: late }, ...rounds(3)], {
      needed: { t1_0: needed },
    });

  it.each<[string, readonly number[], number]>([
    ["is charged in the round that needs it", [7], 7],
    ["is charged once", [7, 8, 9], 7],
    ["is not charged while it is shown", [3, 8], 8],
  ])("%s", async (_, needed, charged) => {
    const { refetchCost, refetched, contextByRound, cost, inputCost } = await replayed(made(needed), "cold");
    expect(refetched).toBe(1);
    const context = contextByRound[charged] ?? 0;
    expect(refetchCost).toBeCloseTo(write * (5_000 - markerTokens) + read * context, 9);
    expect(cost).toBeCloseTo(inputCost + refetchCost, 9);
  });

  it("costs nothing where fetching is free, nor where it was never cleared", async () => {
    expect(await replayed(made([7]), "cold", { refetch: "free" })).toMatchObject({ refetchCost: 0, refetched: 0 });
    expect(await replayed(made([7]), "never")).toMatchObject({ refetchCost: 0, refetched: 0 });
    expect(await replayed(made([3]), "cold")).toMatchObject({ refetchCost: 0, refetched: 0 });
  });

  it("is charged too where whole rounds left the view", async () => {
    const recording = madeRecording([{}, answered(60_000), ...rounds(2), { said: 60_000 }, ...rounds(2)], {
      needed: { t1_0: [6] },
    });
    expect(await replayed(recording, "truncate")).toMatchObject({ edits: 1, refetched: 1 });
  });
});

describe("whole rounds that permission the view", () => {
  it.each(["claude-code-2026-all", "claude-code-2026"])(
    "are those of low value on a cold cache, where the policy snips: %s",
    async (policy) => {
      const recording = madeRecording([{}, answered(0), ...rounds(6), { said: 10, afterMillis: late }, {}], {
        tool: "Grep",
        answers: { t1_0: "No matches found" },
        needed: { t1_0: [9] },
      });
      const { edits, refetched, contextByRound, refused } = await replayed(recording, policy);
      const isSnipped = policy === "claude-code-2026-all";
      expect({ edits, refetched, refused }).toEqual({
        edits: Number(isSnipped),
        refetched: Number(isSnipped),
        refused: 0,
      });
      const gone = isSnipped ? reply + callTokens + markerTokens : 0;
      expect((contextByRound[8] ?? 0) - (contextByRound[7] ?? 0)).toBe(reply + 10 - gone);
    },
  );

  it.each(["claude-code-2026-all", "claude-code-2026"])(
    "are the oldest from the warning on, where the policy collapses, and leave a stand-in: %s",
    async (policy) => {
      const recording = madeRecording([{}, ...rounds(24, answered(6_000)), { said: 10 }, {}], {
        needed: { t1_0: [26] },
      });
      const { sent, edits, refetched, refetchCost, contextByRound, compactions, refused } = await replayed(
        recording,
        policy,
      );
      const isCollapsed = policy === "claude-code-2026-all";
      expect({ compactions, refused }).toEqual({ compactions: 0, refused: 0 });
      expect({ edits, refetched }).toEqual({ edits: Number(isCollapsed), refetched: Number(isCollapsed) });
      if (!isCollapsed) return;
      const asked = sent.filter(({ kind }) => kind === "round");
      const at = asked.findIndex((line, index) => shrinks(asked[index - 1], line));
      const one = reply + callTokens + 6_000;
      // Ten rounds stay, and the first message; what came last stands behind them.
      const before = (contextByRound[at - 1] ?? 0) + one;
      expect((before - (contextByRound[at] ?? 0) + markerTokens) % one).toBe(0);
      expect(contextByRound[at]).toBe(header + 100 + markerTokens + 10 * one);
      expect(refetchCost).toBeCloseTo(write * 6_000 + read * (contextByRound[26] ?? 0), 9);
    },
  );
});

describe("a compaction of a replay", () => {
  const grown = madeRecording([{}, { said: 80_000 }, { said: 80_000 }, { said: 7_000 }, { said: 500 }]);
  const whole = (round: number): number => [10_100, 90_150, 170_200, 177_250][round] ?? 0;

  it("by a fork reads what is cached, pays its output, and leaves header, summary, files and what waits for its answer", async () => {
    const { sent, contextByRound, compactions, inputCost, cost, costWithRework } = await replayed(grown, "never");
    expect(compactions).toBe(1);
    expect(sent.map(({ kind, round }) => `${kind} ${round}`)).toEqual([
      "round 0",
      "round 1",
      "round 2",
      "compaction 3",
      "round 3",
      "round 4",
    ]);
    const left = header + 11_000 + 7_000;
    expect(contextByRound).toEqual([whole(0), whole(1), whole(2), left, left + reply + 500]);
    // The context of round 2 is cached; what came since is not, nor what the summary is asked for with.
    const fresh = reply + 7_000 + markerTokens;
    expect(sent[3]).toMatchObject({ call: "fork", usage: { cacheReadTokens: whole(2), inputTokens: fresh } });
    expect(sent[2]).not.toHaveProperty("call");
    const others = write * whole(2) + read * (whole(0) + whole(1)) + (read * header + write * (left - header));
    const last = read * left + write * 550;
    expect(inputCost).toBeCloseTo(others + (read * whole(2) + fresh) + last, 6);
    expect(cost).toBeCloseTo(inputCost + 5 * 3_000, 6);
    expect(costWithRework).toBeCloseTo(cost + 40_000, 6);
  });

  it("without a fork sends everything anew, but not the header", async () => {
    const recording = madeRecording([{}, { said: 80_000 }, { said: 80_000 }, { said: 18_000 }, {}]);
    const { sent } = await replayed(recording, "claude-code-2.0");
    const compaction = sent.find(({ kind }) => kind === "compaction");
    expect(compaction).toMatchObject({ call: "plain", usage: { cacheReadTokens: 0 } });
    expect(compaction?.usage.inputTokens).toBe(compaction?.blocks.reduce((sum, [, tokens]) => sum + tokens, 0));
    // The first block is the summariser's own system prompt.
    expect(compaction?.blocks[0]?.[1]).toBeLessThan(header);
  });

  it("that restores nothing leaves the summary only", async () => {
    const { sent } = await replayed(grown, "opencode");
    const after = sent[sent.findIndex(({ kind }) => kind === "compaction") + 1];
    expect(after?.blocks.map(([, tokens]) => tokens).slice(0, 2)).toEqual([header, 3_000]);
  });

  it.each(["never", "palimpsest"])(
    "covers also what is new where that would not fit, and goes on: %s",
    async (policy) => {
      for (const made of [
        [{}, { said: 250_000 }, {}],
        [{ said: 300_000 }, {}],
      ]) {
        const { failedAt, compactions, refused, contextByRound } = await replayed(madeRecording(made), policy);
        expect({ failedAt, refused, rounds: contextByRound.length }).toEqual({
          failedAt: undefined,
          refused: 0,
          rounds: made.length,
        });
        expect(compactions).toBe(1);
      }
    },
  );

  it("starts the count of rounds between clearings where it was", async () => {
    const many = rounds(40, { results: [6_000, 6_000] });
    const { sent, compactions } = await replayed(madeRecording([{}, ...many]), "batches-9", { windowTokens: 140_000 });
    expect(compactions).toBeGreaterThan(0);
    const cuts = sent.flatMap((line, at) => (shrinks(sent[at - 1], line) ? [line.round] : []));
    for (const [at, round] of cuts.entries()) expect(round - (cuts[at - 1] ?? -9)).toBeGreaterThanOrEqual(9);
    expect(cuts.length).toBeGreaterThanOrEqual(3);
  });
});

describe("a policy that can't go on", () => {
  it.each([
    ["none", [{}, { said: 150_000 }, { said: 60_000 }], 2],
    ["mask", [{}, { said: 150_000 }, { said: 60_000 }], 2],
  ] as const)(
    "%s fails at the round that does not fit, and sends nothing that is refused",
    async (policy, made, failedAt) => {
      const outcome = await replayed(madeRecording(made), policy);
      expect(outcome).toMatchObject({ failedAt, refused: 0 });
      expect(outcome.contextByRound).toHaveLength(failedAt);
    },
  );

  it("goes on where there is no window", async () => {
    const outcome = await replayed(madeRecording([{}, { said: 900_000 }]), "none", { windowTokens: "none" });
    expect(outcome.failedAt).toBeUndefined();
    expect(outcome.peakContext).toBe(header + 900_150);
  });

  it("fails under any policy where the header alone is too large", async () => {
    const recording = madeRecording([{}], { headerTokens: 286_000 });
    for (const policy of ["never", "palimpsest", "truncate", "api"])
      expect((await replayed(recording, policy)).failedAt, policy).toBe(0);
  });
});

describe("what a policy shows", () => {
  it("is a preview of what it offloads, from the round in which it comes, and is charged when it is needed", async () => {
    const options = { resultChars: 60_000, needed: { t1_0: [2] } };
    const recording = madeRecording([{}, answered(15_000), {}], options);
    const { contextByRound, refetched, refetchCost } = await replayed(recording, "palimpsest");
    const context = [header + 100, header + 100 + reply + callTokens + markerTokens];
    expect(contextByRound.slice(0, 2)).toEqual(context);
    expect(refetched).toBe(1);
    expect(refetchCost).toBeCloseTo(write * 15_000 + read * (contextByRound[2] ?? 0), 9);
    expect((await replayed(recording, "never")).contextByRound[1]).toBe((context[1] ?? 0) - markerTokens + 15_000);
  });

  it.each([
    ["claude-sonnet-5-5", "rule", 400],
    ["claude-sonnet-5-5", "never", 0],
    ["claude-sonnet-4-5", "rule", 0],
  ])("leaves thinking out where the model binds it and the policy edits: %s, %s", async (model, policy, leftOut) => {
    const recording = madeRecording([{ thinking: 300 }, { said: 10, thinking: 100 }, { said: 10 }], { model });
    const outcome = await replayed(recording, policy);
    expect(outcome.thinkingTokensLeftOut).toBe(leftOut);
    const rest = header + 100 + 10 + 10 + 2 * reply;
    expect(outcome.contextByRound.at(-1)).toBe(rest + 400 - leftOut);
  });

  it("has the same tokens for the same blocks under every policy", async () => {
    const recording = madeRecording([{}, answered(6_000, 800), answered(7_000), ...rounds(6), { said: 40 }]);
    const tokensById = new Map<number, number>();
    for (const { blocks } of (await replayed(recording, "never", { policies: ["never", "rule", "mask", "palimpsest"] }))
      .sent)
      for (const [id, tokens] of blocks) {
        expect(tokens).toBe(tokensById.get(id) ?? tokens);
        tokensById.set(id, tokens);
      }
    expect(tokensById.size).toBeGreaterThan(15);
  });

  it("counts for a provider that clears what is sent, until a compaction covers it", async () => {
    // From 100,000 on all but 3 results; behind the compaction the results are few, and none is cleared.
    const many = rounds(14, { results: [8_000] });
    const made = madeRecording([{}, ...many, { said: 150_000 }, ...rounds(6, { results: [2_000] })]);
    const { sent, compactions } = await replayed(made, "api-100k");
    expect(compactions).toBe(1);
    const at = sent.findIndex(({ kind }) => kind === "compaction");
    expect(sent.slice(0, at).some((line, index) => shrinks(sent[index - 1], line))).toBe(true);
    expect(sent.slice(at + 2).some((line, index) => shrinks(sent[at + 1 + index], line))).toBe(false);
  });
});

/** A block of the request before is not in this one: something was cleared. */
function shrinks(
  before: { readonly kind: string; readonly blocks: readonly (readonly [number, number])[] } | undefined,
  now: { readonly kind: string; readonly blocks: readonly (readonly [number, number])[] },
): boolean {
  if (before?.kind !== "round" || now.kind !== "round") return false;
  const shown = new Set(now.blocks.map(([id]) => id));
  return before.blocks.some(([id]) => !shown.has(id));
}
