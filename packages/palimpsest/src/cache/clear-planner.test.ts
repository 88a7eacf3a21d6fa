import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../test/fixture/made-inventory.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import { millis } from "../schema/brand.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import { ClearPlanner } from "./clear-planner.ts";
import { type ClearInput, priceClear, type ClearPrice, type PriceRule } from "./clear-price.ts";
import { findAgeBand } from "./need-bands.ts";
import { type CacheRates, usualRates } from "./cache-rates.ts";

const runs = parametersFor({ quick: 150, long: 20_000 });
const minute = 60_000;

interface Round {
  readonly gapMillis: number;
  readonly words: number;
  readonly sizes: readonly number[];
  readonly tool: "Bash" | "Read" | "Edit" | "AskUserQuestion";
  readonly file: number;
  readonly rates: CacheRates;
  readonly scale: number;
  readonly acts: "does" | "leaves";
  readonly frontier: "marked" | "not";
}

const size = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 800 }) }, fc.nat({ max: 20_000 }));
const round: fc.Arbitrary<Round> = fc.record({
  gapMillis: fc.oneof({ weight: 20, arbitrary: fc.nat({ max: minute }) }, fc.constantFrom(6 * minute, 61 * minute)),
  words: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 400 }) }, fc.integer({ min: 1, max: 5_000 })),
  sizes: fc.array(size, { maxLength: 3 }),
  tool: fc.constantFrom("Bash", "Read", "Edit", "AskUserQuestion", "Bash", "Read"),
  file: fc.nat({ max: 5 }),
  rates: fc.oneof({ weight: 20, arbitrary: fc.constant(usualRates["5m"]) }, fc.constant(usualRates["1h"])),
  scale: fc.oneof({ weight: 10, arbitrary: fc.constant(1) }, fc.constantFrom(0.8, 0.97, 1.01, 1.2)),
  acts: fc.oneof({ weight: 6, arbitrary: fc.constant("does" as const) }, fc.constant("leaves" as const)),
  frontier: fc.oneof({ weight: 5, arbitrary: fc.constant("marked" as const) }, fc.constant("not" as const)),
});

const rule: fc.Arbitrary<PriceRule> = fc.record({
  staleRounds: fc.integer({ min: 0, max: 5 }),
  agesFrom: fc.constantFrom("last-use", "last-use", "birth"),
  patience: fc.constantFrom(0, 0.25, 0.3, 1, 2, 1e9),
  horizonRounds: fc.constantFrom(0, 5, 20),
  riskWeight: fc.constantFrom(0, 1, 1, 3),
});

const usual: PriceRule = { staleRounds: 3, agesFrom: "last-use", patience: 0.3, horizonRounds: 20, riskWeight: 1 };

/** By age band, in any order. */
const chances = fc.array(fc.constantFrom(0, 0.001, 0.01, 0.05, 0.2, 1), { minLength: 6, maxLength: 6 });

const shape = (priced: ClearPrice | undefined): object | undefined =>
  priced && { ...priced, results: priced.results.map(({ toolUse }) => toolUse) };

interface Session {
  readonly rounds: readonly Round[];
  readonly rule: PriceRule;
  readonly chances: readonly number[];
}

/** Plays a session and says, for each request, what the planner and the walk answer. */
function* played({ rounds, rule: asked, chances: byBand }: Session): Generator<readonly [unknown, unknown]> {
  const made = new MadeConversation().says(3_000);
  const prefixes = new CachedPrefixes();
  const planner = new ClearPlanner();
  const fixedTokens = 20_000;
  const needChance: ClearInput["moment"]["needChance"] = ({ ageRounds }) => byBand[findAgeBand(ageRounds)] ?? 0;
  let now = 0;
  for (const { gapMillis, words, sizes, tool, file, rates, scale, acts, frontier } of rounds) {
    const input = tool === "Read" || tool === "Edit" ? { file_path: `f${file}` } : {};
    made.round(
      sizes.map((tokens) => ({ tool, input, tokens })),
      "w".repeat(words),
    );
    const { inventory } = made;
    now += gapMillis;
    const at = millis(now);
    const contextTokens = fixedTokens + inventory.shownTokens * scale;
    const moment = { at, rates, contextTokens, fixedTokens, needChance };
    const given = { inventory, prefixes, moment, rule: asked };
    const priced = priceClear(given);
    yield [shape(planner.price(given)), shape(priced)];
    if (priced !== undefined && acts === "does") {
      const cut = Math.min(...priced.results.map((one) => inventory.offsetOf(one)));
      made.clear(...priced.results.map(({ toolUse }) => toolUse));
      prefixes.cut(cut);
    }
    const refreshed = frontier === "marked" && inventory.oldest !== undefined ? [inventory.headTokens] : [];
    const lifetime = rates.write > 1.5 ? "1h" : "5m";
    const written = [...refreshed, inventory.shownTokens].map((upToTokens) => ({ upToTokens, lifetime }) as const);
    prefixes.sent({ at, written, refreshed });
  }
}

describe("the planner that remembers", () => {
  it(`says before every request what a walk over everything says, ${runs.numRuns} sessions`, () => {
    fc.assert(
      fc.property(
        fc.record({ rounds: fc.array(round, { minLength: 20, maxLength: 90 }), rule, chances }),
        (session) => {
          for (const [remembered, walked] of played(session)) expect(remembered).toEqual(walked);
        },
      ),
      runs,
    );
  });

  it("walks over everything in few rounds only, where results are too risky to go", () => {
    const made = new MadeConversation().says(3_000);
    for (let n = 0; n < 200; n += 1) made.round([{ tool: "Read", input: { file_path: `f${n}` }, tokens: 500 }]);
    let asked = 0;
    const needChance = (): number => {
      asked += 1;
      return 0.5;
    };
    const prefixes = new CachedPrefixes();
    const planner = new ClearPlanner();
    const byRound: number[] = [];
    for (let n = 0; n < 60; n += 1) {
      const { inventory } = made.round([{ tokens: 500 }]);
      const moment = {
        at: millis(n),
        rates: usualRates["5m"],
        contextTokens: inventory.shownTokens,
        fixedTokens: 0,
        needChance,
      };
      asked = 0;
      expect(planner.price({ inventory, prefixes, moment, rule: usual })).toBeUndefined();
      byRound.push(asked);
      const written = [{ upToTokens: inventory.shownTokens, lifetime: "5m" } as const];
      prefixes.sent({ at: millis(n), written, refreshed: [] });
    }
    const whole = byRound.filter((count) => count > 150).length;
    expect([whole > 0, whole <= 6]).toEqual([true, true]);
  });
});

describe("what nobody could foresee is seen at once", () => {
  const file = { tool: "Read", input: { file_path: "a" }, tokens: 5_010 };
  const change = { tool: "Edit", input: { file_path: "a" }, tokens: 20 };
  const fixedTokens = 100_000;

  interface Unforeseen {
    /** Rounds behind what the planner saw last. */
    readonly happens: (made: MadeConversation) => void;
    /** By age band. */
    readonly chances: readonly number[];
    readonly scale?: number;
  }

  it.each<[string, Unforeseen]>([
    [
      "a risky result is superseded",
      { happens: (made) => made.round([change]).round([{ ...file, tokens: 50 }]), chances: [1, 1, 1, 1, 1, 1] },
    ],
    [
      "one is used again, and then at an age where it is not risky",
      { happens: (made) => made.round([change]).rounds(3), chances: [1, 0, 1, 1, 1, 1] },
    ],
    [
      "the context is smaller than it was taken to be",
      { happens: (made) => made.rounds(1), chances: [0.8, 0.8, 0.8, 0.8, 0.8, 0.8], scale: 3 },
    ],
  ])("%s", (_, { happens, chances: byBand, scale: scaleThen = 1 }) => {
    const made = new MadeConversation().says(100).round([file]).rounds(30);
    const { inventory } = made;
    const prefixes = new CachedPrefixes();
    const planner = new ClearPlanner();
    const needChance: ClearInput["moment"]["needChance"] = ({ ageRounds }) => byBand[findAgeBand(ageRounds)] ?? 0;
    const given = (scale: number): ClearInput => {
      const contextTokens = fixedTokens + inventory.shownTokens * scale;
      const moment = { at: millis(0), rates: usualRates["5m"], contextTokens, fixedTokens, needChance };
      return { inventory, prefixes, moment, rule: usual };
    };
    const sent = (): void =>
      prefixes.sent({ at: millis(0), written: [{ upToTokens: inventory.shownTokens, lifetime: "5m" }], refreshed: [] });
    prefixes.sent({ at: millis(0), written: [{ upToTokens: inventory.headTokens, lifetime: "5m" }], refreshed: [] });
    sent();
    for (let n = 0; n < 2; n += 1) {
      made.rounds(1);
      expect(planner.price(given(1))).toBeUndefined();
      sent();
    }
    happens(made);
    sent();
    expect(planner.price(given(scaleThen))?.results.map(({ toolUse }) => toolUse)).toEqual(["t1"]);
  });
});
