import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { madePrompt } from "../../../../test/fixture/made-prompt.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import { millis } from "../schema/brand.ts";
import { PromptCache } from "./prompt-cache.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import type { Lifetime } from "./lifetime.ts";
import { lookBackBlocks } from "./limits.ts";

const runs = parametersFor({ quick: 500, long: 20_000 });
const minute = 60_000;
const at = (minutes: number) => millis(minutes * minute);
const write = (...ends: readonly number[]) => ends.map((upToTokens) => ({ upToTokens, lifetime: "5m" }) as const);

describe("cached prefixes", () => {
  const twice = (): CachedPrefixes => {
    const prefixes = new CachedPrefixes();
    prefixes.sent({ at: at(0), written: write(100, 900), refreshed: [] });
    return prefixes;
  };

  it.each<[string, number, number, number]>([
    ["the longest that does not reach beyond", 1_000, 1, 900],
    ["a shorter one where that does", 899, 1, 100],
    ["none before the first", 99, 1, 0],
    ["none once their time is over", 1_000, 5, 0],
  ])("are read up to %s", (_, tokens, minutes, expected) => {
    expect(twice().upTo(tokens, at(minutes))).toBe(expected);
  });

  it("one that is passed over expires although a longer one is written", () => {
    const prefixes = twice();
    prefixes.sent({ at: at(4), written: write(1_500), refreshed: [] });
    expect([prefixes.upTo(1_000, at(4.9)), prefixes.upTo(1_000, at(5)), prefixes.upTo(2_000, at(5))]).toEqual([
      900, 0, 1_500,
    ]);
  });

  it("one at which a request is marked lives on, and only that one", () => {
    const prefixes = twice();
    prefixes.sent({ at: at(4), written: write(1_500), refreshed: [120] });
    expect([prefixes.upTo(1_000, at(8)), prefixes.upTo(1_000, at(9))]).toEqual([100, 0]);
  });

  it("a mark within what is read writes nothing", () => {
    const prefixes = twice();
    prefixes.sent({ at: at(1), written: write(500, 1_500), refreshed: [500] });
    expect(prefixes.upTo(600, at(2))).toBe(100);
  });

  it("behind an edit nothing can be read, and that is no cold moment", () => {
    const prefixes = twice();
    prefixes.cut(500);
    expect(prefixes.upTo(1_000, at(1))).toBe(100);
    expect([prefixes.isCold(at(4.9)), prefixes.isCold(at(5))]).toEqual([false, true]);
  });

  it("is not cold while a shorter one lives, however long the longest is gone", () => {
    const prefixes = new CachedPrefixes();
    const written = [{ upToTokens: 100_000, lifetime: "1h" } as const, ...write(101_000)];
    prefixes.sent({ at: at(0), written, refreshed: [] });
    expect([prefixes.upTo(Infinity, at(7)), prefixes.isCold(at(7)), prefixes.isCold(at(60))]).toEqual([
      100_000,
      false,
      true,
    ]);
  });

  it("is cold before anything was written", () => {
    expect(new CachedPrefixes().isCold(at(0))).toBe(true);
  });

  it("only what outlives the short lifetime counts as covered for an hour", () => {
    const prefixes = twice();
    prefixes.sent({ at: at(1), written: [{ upToTokens: 2_000, lifetime: "1h" }], refreshed: [] });
    expect([prefixes.hourUpTo(at(2)), prefixes.hourUpTo(at(57))]).toEqual([2_000, 0]);
  });
});

interface Step {
  readonly gapMinutes: number;
  readonly blocks: number;
  readonly lifetime: Lifetime;
  /** In hundredths of the conversation: from there on everything is other than before. */
  readonly cut?: number | undefined;
}

const step: fc.Arbitrary<Step> = fc.record({
  gapMinutes: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.integer({ min: 4, max: 70 })),
  blocks: fc.integer({ min: 1, max: 6 }),
  lifetime: fc.constantFrom<Lifetime[]>("5m", "5m", "5m", "1h"),
  cut: fc.option(fc.nat({ max: 100 }), { freq: 5, nil: undefined }),
});

describe(`against the simulator's cache, ${runs.numRuns} conversations`, () => {
  /** Marks at the end, at a frontier from its first round on, and where an edit leaves them out of sight at what lives still. */
  function* played(steps: readonly Step[], frontierAt: number): Generator<readonly [number, number]> {
    const cache = new PromptCache();
    const prefixes = new CachedPrefixes();
    let names: string[] = [];
    let end: number | undefined;
    let now = 0;
    for (const [turn, { gapMinutes, blocks, lifetime, cut }] of steps.entries()) {
      now += gapMinutes * minute;
      if (cut !== undefined) {
        const kept = Math.floor((names.length * cut) / 100);
        names = names.map((name, place) => (place < kept ? name : `${name}'`));
        prefixes.cut(kept);
        end = undefined;
      }
      names = [...names, ...Array.from({ length: blocks }, (_, n) => `${turn}.${n}`)];
      const frontier = names.length > frontierAt ? frontierAt : undefined;
      const reads = prefixes.upTo(names.length, millis(now));
      const near = names.length - reads > lookBackBlocks && reads > 0 ? [reads] : [];
      const marks = [...new Set([...(frontier === undefined ? [] : [frontier]), ...near, names.length])];
      const prompt = madePrompt(
        names.map((name, place) => ({ name, tokens: 1, breakpoint: marks.includes(place + 1) ? lifetime : undefined })),
      );
      const plan = cache.look({ prompt, at: millis(now), minimumTokens: 0 });
      yield [reads, plan.usage.cacheReadTokens];
      cache.commit(plan);
      const refreshed = [...marks.slice(0, -1), ...(end === undefined ? [] : [end])];
      prefixes.sent({ at: millis(now), written: marks.map((upToTokens) => ({ upToTokens, lifetime })), refreshed });
      end = names.length;
    }
  }

  it("never more is said to live than is read", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 30 }), (steps, frontierAt) => {
        for (const [said, read] of played(steps, frontierAt)) expect(said).toBeLessThanOrEqual(read);
      }),
      runs,
    );
  });

  it("where nothing is edited it is what is read", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 30 }), (steps, frontierAt) => {
        const unedited = steps.map((one) => ({ ...one, cut: undefined }));
        for (const [said, read] of played(unedited, frontierAt)) expect(said).toBe(read);
      }),
      runs,
    );
  });
});
