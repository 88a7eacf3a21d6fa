import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MadeCall, MadeConversation } from "../../../../test/fixture/made-inventory.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import { millis } from "../schema/brand.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import {
  type ClearInput,
  type ForcedNeed,
  priceForcedClear,
  priceClear,
  type ClearPrice,
  type PriceRule,
  inventoryScale,
  warmPatience,
} from "./clear-price.ts";
import type { Resident } from "./resident.ts";
import { type CacheRates, usualRates } from "./cache-rates.ts";

const runs = parametersFor({ quick: 400, long: 20_000 });
const usual: PriceRule = { staleRounds: 3, agesFrom: "last-use", patience: 1, horizonRounds: 20, riskWeight: 0 };

interface Wish {
  readonly rule?: Partial<PriceRule>;
  readonly rates?: CacheRates;
  readonly chance?: number;
  /** Ends of the prefixes that live; all that is shown where it is absent. */
  readonly live?: readonly number[];
  readonly contextTokens?: number;
  readonly fixedTokens?: number;
}

function inputOf({ inventory }: MadeConversation, wish: Wish = {}): ClearInput {
  const { rule = {}, rates = usualRates["5m"], chance = 0, live, fixedTokens = 0 } = wish;
  const prefixes = new CachedPrefixes();
  const ends = live ?? Array.from({ length: 200 }, (_, at) => Math.round((inventory.shownTokens * (at + 1)) / 200));
  const written = ends.map((upToTokens) => ({ upToTokens, lifetime: "5m" }) as const);
  prefixes.sent({ at: millis(0), written, refreshed: [] });
  const contextTokens = wish.contextTokens ?? inventory.shownTokens + fixedTokens;
  const moment = { at: millis(1_000), rates, contextTokens, fixedTokens, needChance: () => chance };
  return { inventory, prefixes, moment, rule: { ...usual, ...rule } };
}

const ids = (priced: ClearPrice | undefined): readonly string[] => priced?.results.map(({ toolUse }) => toolUse) ?? [];
const cold: Wish = { live: [] };

/** One result of 1,010 tokens, and so many rounds of 100 tokens behind it. */
const aged = (rounds: number, call: Partial<MadeCall> = {}): MadeConversation =>
  new MadeConversation()
    .says()
    .round([{ tokens: 1_010, ...call }])
    .rounds(rounds, "w".repeat(100));

describe("staleness", () => {
  const file = { tool: "Read", input: { file_path: "a" }, tokens: 1_010 };
  const edited = { tool: "Edit", input: { file_path: "a" }, tokens: 20 };
  const base = (): MadeConversation => new MadeConversation().says().round([file]);

  it.each<[string, MadeConversation, Partial<PriceRule>, readonly string[]]>([
    ["not before its rounds are over", base().rounds(2), {}, []],
    ["when they are", base().rounds(3), {}, ["t1"]],
    ["later where it was used since", base().round([edited]).rounds(2), {}, []],
    ["so many rounds after its last use", base().round([edited]).rounds(3), {}, ["t1"]],
    ["by its birth alone where the rule says so", base().round([edited]).rounds(2), { agesFrom: "birth" }, ["t1"]],
    ["from the round on in which it is superseded", base().round([edited]).round([file]), {}, ["t1"]],
  ])("a result is stale %s", (_, made, rule, expected) => {
    expect(ids(priceClear(inputOf(made, { ...cold, rule })))).toEqual(expected);
  });
});

describe("on a warm cache", () => {
  // Rent is 100 a round from the third on; behind it stand the marker's ten and a hundred for each round.
  it.each([
    [0.1, 3],
    [0.5, 5],
    [0.8, 27],
    [2, undefined],
  ])("at a patience of %d a result goes in the first round whose rent has paid for the cut", (patience, expected) => {
    const rounds = Array.from({ length: 60 }, (_, round) => round);
    const pays = (round: number): boolean => 100 * (round - 2) > patience * 1.15 * (10 + 100 * round);
    expect(rounds.find((round) => round > 2 && pays(round))).toBe(expected);
    expect(rounds.find((round) => priceClear(inputOf(aged(round), { rule: { patience } })) !== undefined)).toBe(
      expected,
    );
  });

  it("a superseded read accrues rent from then on, and goes when that has paid, not at once", () => {
    const file = { tool: "Read", input: { file_path: "a" }, tokens: 1_010 };
    const made = new MadeConversation()
      .says()
      .round([file])
      .round([{ ...file, tool: "Edit", tokens: 20 }]);
    made.round([{ ...file, tokens: 50 }], "w".repeat(200));
    expect(ids(priceClear(inputOf(made)))).toEqual([]);
    made.rounds(3);
    expect(priceClear(inputOf(made))).toMatchObject({ why: "warm", rentCost: 400, results: [{ toolUse: "t1" }] });
  });

  it("the cut is where the surplus is largest, and not where it is first positive", () => {
    const made = new MadeConversation().says();
    made.round([{ tokens: 20_010 }], "w".repeat(2_000));
    made.round([{ tokens: 5_010 }], "w".repeat(500)).rounds(4);
    const priced = priceClear(inputOf(made));
    expect(ids(priced)).toEqual(["t1", "t2"]);
    const far = new MadeConversation()
      .says()
      .round([{ tokens: 200 }])
      .rounds(1, "w".repeat(30_000));
    far.round([{ tokens: 5_010 }], "w".repeat(500)).rounds(4);
    expect(ids(priceClear(inputOf(far)))).toEqual(["t2"]);
  });

  it("a result that is likely to be needed again stays, whatever its rent", () => {
    const made = aged(400);
    const wish = { rule: { patience: 0.1, riskWeight: 1 } };
    expect(ids(priceClear(inputOf(made, wish)))).toEqual(["t1"]);
    expect(ids(priceClear(inputOf(made, { ...wish, chance: 0.9 })))).toEqual([]);
  });

  it("what lies between the cut and the longest prefix before it is written again too", () => {
    const made = new MadeConversation()
      .says(50_000)
      .round([{ tokens: 1_010 }])
      .rounds(5);
    expect(ids(priceClear(inputOf(made)))).toEqual(["t1"]);
    const end = made.inventory.shownTokens;
    expect(priceClear(inputOf(made, { live: [1_000, end] }))).toBeUndefined();
    expect(ids(priceClear(inputOf(made, { live: [made.inventory.headTokens, end] })))).toEqual(["t1"]);
  });

  it("its arithmetic is told", () => {
    const priced = priceClear(inputOf(aged(6), { rule: { patience: 0.5 } }));
    expect(priced).toMatchObject({ why: "warm", removesTokens: 1_000, rentCost: 400, riskCost: 0, savedPerRound: 100 });
    expect(priced?.againCost).toBeCloseTo(1.15 * (priced?.behindTokens ?? 0));
    expect(priced?.neededRent).toBeCloseTo(0.5 * (priced?.againCost ?? 0));
  });
});

describe("on a cold cache", () => {
  it("everything stale goes, at no price", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 300 }])
      .round([{ tokens: 400 }])
      .rounds(3, "w".repeat(9_000));
    made.round([{ tokens: 500 }]);
    expect(priceClear(inputOf(made, { ...cold, rule: { patience: 1e9 } }))).toMatchObject({
      why: "cold",
      results: [{ toolUse: "t1" }, { toolUse: "t2" }],
      behindTokens: 0,
      neededRent: 0,
    });
  });

  it("only what lies behind the longest prefix that lives is free", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 300 }], "w".repeat(900))
      .round([{ tokens: 400 }])
      .rounds(3);
    const live = made.inventory.offsetOf(made.inventory.newest as Resident);
    expect(ids(priceClear(inputOf(made, { live: [live], rule: { patience: 1e9 } })))).toEqual(["t2"]);
  });

  it("what is likely to be needed again stays there too, at a higher chance", () => {
    const wish = { ...cold, rule: { riskWeight: 1 }, contextTokens: 100_000 };
    const goes = (chance: number): boolean => priceClear(inputOf(aged(3), { ...wish, chance })) !== undefined;
    // (write + read · horizon) · tokens against chance · (write · tokens + read · context), all by the scale of the context.
    const scale = 100_000 / aged(3).inventory.shownTokens;
    const limit = (3.25 * 1_000 * scale) / (1.25 * 1_000 * scale + 10_000);
    expect(limit).toBeGreaterThan(1);
    expect([goes(limit * 0.99), goes(limit * 1.01)]).toEqual([true, false]);
  });

  it("what is superseded is needed by nobody", () => {
    const file = { tool: "Read", input: { file_path: "a" }, tokens: 1_010 };
    const made = new MadeConversation()
      .says()
      .round([file])
      .round([{ ...file, tool: "Edit", tokens: 20 }])
      .round([file]);
    expect(priceClear(inputOf(made, { ...cold, rule: { riskWeight: 1 }, chance: 1_000 }))).toMatchObject({
      results: [{ toolUse: "t1" }],
      riskCost: 0,
    });
  });
});

describe("under pressure", () => {
  const three = (): MadeConversation =>
    new MadeConversation()
      .says()
      .round([{ tokens: 1_010 }])
      .round([{ tokens: 1_010 }])
      .rounds(2)
      .round([{ tokens: 1_010 }]);

  /** The next cut is forced at what there is now, and a round adds 500 tokens. */
  const need = (made: MadeConversation, { freeTokens, keepRounds = 1, growthTokens = 500 }: NeedWish): ForcedNeed => ({
    freeTokens,
    keepRounds,
    limitTokens: made.inventory.shownTokens,
    growthTokens,
  });

  it.each([
    ["everything stale, of which little survives behind the cut", 900, ["t1", "t2"]],
    ["fresh ones too where the stale ones are not enough", 2_100, ["t1", "t2", "t3"]],
    ["all there is where nothing is enough", 9_000, ["t1", "t2", "t3"]],
  ])("go %s", (_, freeTokens, expected) => {
    const made = three().rounds(1);
    const priced = priceForcedClear(inputOf(made, { rule: { staleRounds: 4 } }), need(made, { freeTokens }));
    expect(ids(priced)).toEqual(expected);
    expect(priced?.why).toBe("forced");
  });

  /** A long text between two results. */
  const parted = (): MadeConversation =>
    new MadeConversation()
      .says()
      .round([{ tokens: 1_010 }])
      .round([{ tokens: 1_010 }], "w".repeat(8_000))
      .rounds(4);

  it.each<[string, number, readonly string[]]>([
    ["stays where rounds are long: the text would be written again for a few of them", 500, ["t2"]],
    ["goes where they are short: that pays for many of them", 5, ["t1", "t2"]],
  ])("what stands before a long text %s", (_, growthTokens, expected) => {
    const made = parted();
    expect(ids(priceForcedClear(inputOf(made), need(made, { freeTokens: 900, growthTokens })))).toEqual(expected);
  });

  it("what lies behind the same live prefix goes along, since it is written again in any case", () => {
    const made = parted();
    const input = inputOf(made, { live: [10, made.inventory.shownTokens] });
    expect(ids(priceForcedClear(input, need(made, { freeTokens: 900 })))).toEqual(["t1", "t2"]);
  });

  it("what is likely to be needed again stays while the rest is enough", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 1_010, tool: "Read" }])
      .round([{ tokens: 1_010 }])
      .rounds(4);
    const input = inputOf(made, { rule: { riskWeight: 1 } });
    const needChance: ClearInput["moment"]["needChance"] = ({ tool }) => (tool === "Read" ? 5 : 0);
    const risky = { ...input, moment: { ...input.moment, needChance } };
    expect(ids(priceForcedClear(risky, need(made, { freeTokens: 900 })))).toEqual(["t2"]);
    expect(ids(priceForcedClear(risky, need(made, { freeTokens: 1_100 })))).toEqual(["t1", "t2"]);
  });

  it("of fresh results the older go first, and those of the newest rounds stay: nobody has answered to them", () => {
    const made = new MadeConversation()
      .says()
      .round([{ tokens: 1_010 }])
      .round([{ tokens: 1_010 }])
      .round([{ tokens: 1_010 }]);
    const forced = (freeTokens: number, keepRounds: number): readonly string[] =>
      ids(priceForcedClear(inputOf(made), need(made, { freeTokens, keepRounds })));
    expect(forced(900, 1)).toEqual(["t1"]);
    expect(forced(5_000, 1)).toEqual(["t1", "t2"]);
    expect(forced(5_000, 3)).toEqual([]);
    expect(forced(5_000, Infinity)).toEqual([]);
  });
});

interface NeedWish {
  readonly freeTokens: number;
  readonly keepRounds?: number;
  readonly growthTokens?: number;
}

it("tokens are those of the context as it is counted", () => {
  const made = aged(3);
  const wish = { ...cold, contextTokens: 2 * made.inventory.shownTokens + 5_000, fixedTokens: 5_000 };
  expect(inventoryScale(inputOf(made, wish))).toBe(2);
  expect(priceClear(inputOf(made, wish))?.removesTokens).toBe(2_000);
});

interface Session {
  readonly rounds: readonly (readonly [number, number, string])[];
  readonly used: number;
  readonly patience: number;
  readonly staleRounds: number;
  readonly chance: number;
  readonly live: readonly number[];
}

const session: fc.Arbitrary<Session> = fc.record({
  rounds: fc.array(
    fc.tuple(
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 50, max: 9_000 }),
      fc.constantFrom("Bash", "Bash", "Read", "Task"),
    ),
    { minLength: 1, maxLength: 8 },
  ),
  used: fc.nat({ max: 8 }),
  patience: fc.constantFrom(0, 0.1, 0.5, 1, 2),
  staleRounds: fc.nat({ max: 4 }),
  chance: fc.constantFrom(0, 0, 0.1, 0.4),
  live: fc.array(fc.nat({ max: 100 }), { maxLength: 4 }),
});

function madeOf({ rounds, used, live, patience, staleRounds, chance }: Session): {
  made: MadeConversation;
  input: ClearInput;
} {
  const made = new MadeConversation().says(500);
  for (const [at, [words, tokens, tool]] of rounds.entries())
    made.round([{ tool, tokens, input: { file_path: `f${at === used ? 0 : at}` } }], "w".repeat(words));
  const ends = live.map((share) => Math.round((made.inventory.shownTokens * share) / 100));
  const rule = { patience, staleRounds, riskWeight: 1 };
  return { made, input: inputOf(made, { rule, chance, live: ends }) };
}

interface Place {
  readonly one: Resident;
  readonly offset: number;
  readonly goes: "warm" | "cold" | "never";
  readonly rent: number;
}

/** From the front, by the formulas alone. */
function placesOf({ inventory, prefixes, moment, rule }: ClearInput): readonly Place[] {
  const { read, write } = moment.rates;
  const live = prefixes.upTo(Infinity, moment.at);
  const places: Place[] = [];
  let offset = inventory.headTokens;
  for (let one = inventory.oldest; one !== undefined; one = one.after) {
    const since = Math.min(one.lastUsedRound + rule.staleRounds, one.supersededRound ?? Infinity);
    const chance = one.supersededRound === undefined ? moment.needChance({ ...one, ageRounds: 0 }) : 0;
    const risk = chance * (write * one.tokens + read * moment.contextTokens);
    const kind = offset >= live ? "cold" : "warm";
    const worth = (read * rule.horizonRounds + (kind === "cold" ? write : 0)) * one.tokens;
    const goes = since <= inventory.round && worth > risk ? kind : "never";
    places.push({ one, offset, goes, rent: read * one.tokens * (1 + inventory.round - since) });
    offset += one.tokens + one.behindTokens;
  }
  return places;
}

/** The best of all subsets of what may go while warm: empty, or the one with the largest positive surplus. */
function bestSurplus(input: ClearInput): number {
  const { prefixes, moment, rule } = input;
  const { read, write } = moment.rates;
  const live = prefixes.upTo(Infinity, moment.at);
  const places = placesOf(input);
  const warm = places.filter(({ goes }) => goes === "warm");
  let best = 0;
  for (let chosen = 1; chosen < 2 ** warm.length; chosen += 1) {
    const gone = new Set(warm.filter((_, at) => (chosen >> at) % 2 === 1));
    const [first] = gone;
    if (first === undefined) continue;
    let again = first.offset - prefixes.upTo(first.offset, moment.at);
    for (const place of places)
      if (place.offset >= first.offset && place.offset < live)
        again += place.one.behindTokens + (gone.has(place) ? 0 : place.one.tokens);
    const rent = [...gone].reduce((sum, place) => sum + place.rent, 0);
    best = Math.max(best, rent - warmPatience(rule) * (write - read) * again);
  }
  return best;
}

type RoomCut = Pick<ClearPrice, "removesTokens" | "behindTokens">;

/** Every cut at a stale result, with all that is stale behind it. */
function staleCuts(input: ClearInput): readonly RoomCut[] {
  const { inventory, prefixes, moment, rule } = input;
  const places = placesOf(input);
  const isStale = ({ one }: Place): boolean =>
    Math.min(one.lastUsedRound + rule.staleRounds, one.supersededRound ?? Infinity) <= inventory.round;
  return places.filter(isStale).map(({ offset }) => {
    const gone = places.filter((place) => place.offset >= offset && isStale(place));
    const removesTokens = gone.reduce((sum, { one }) => sum + one.tokens, 0);
    const behindTokens = inventory.shownTokens - removesTokens - prefixes.upTo(offset, moment.at);
    return { removesTokens, behindTokens: prefixes.isCold(moment.at) ? 0 : behindTokens };
  });
}

function costPerRound(
  { removesTokens, behindTokens }: RoomCut,
  { input, need }: { readonly input: ClearInput; readonly need: ForcedNeed },
): number {
  const { rates, contextTokens } = input.moment;
  const left = contextTokens - removesTokens;
  const rounds = (need.limitTokens - left) / need.growthTokens;
  return ((rates.write - rates.read) * behindTokens) / rounds + (rates.read * (left + need.limitTokens)) / 2;
}

describe(`any session of up to eight results, ${runs.numRuns} of them`, () => {
  it("the cut has the surplus of the best subset there is, and what is cold goes with it", () => {
    fc.assert(
      fc.property(session, (given) => {
        const { input } = madeOf(given);
        const priced = priceClear(input);
        const best = bestSurplus(input);
        const surplus = priced?.why === "warm" ? priced.rentCost - priced.neededRent : 0;
        expect(surplus).toBeCloseTo(best, 6);
        const free = placesOf(input).filter(({ goes }) => goes === "cold");
        expect(ids(priced)).toEqual(expect.arrayContaining(free.map(({ one }) => one.toolUse)));
      }),
      runs,
    );
  });

  it("nothing is proposed that is not stale, not clearable or cleared already; in order, and once", () => {
    fc.assert(
      fc.property(session, ({ ...given }) => {
        const { made, input } = madeOf(given);
        const first = priceClear(input);
        const may = placesOf(input).filter(({ goes }) => goes !== "never");
        const allowed = may.map(({ one }) => one.toolUse as string);
        expect(allowed.filter((id) => ids(first).includes(id))).toEqual(ids(first));
        made.clear(...ids(first));
        expect(ids(priceClear(input)).filter((id) => ids(first).includes(id))).toEqual([]);
      }),
      runs,
    );
  });

  it("with more patience never more goes", () => {
    fc.assert(
      fc.property(session, fc.constantFrom(1.5, 4, 100), (given, times) => {
        const patient = { ...given, patience: Math.max(0.1, given.patience * times) };
        const sooner = priceClear(madeOf(given).input)?.removesTokens ?? 0;
        expect(priceClear(madeOf(patient).input)?.removesTokens ?? 0).toBeLessThanOrEqual(sooner);
      }),
      runs,
    );
  });

  it("what has to be freed is freed wherever the results that may go suffice", () => {
    fc.assert(
      fc.property(session, fc.integer({ min: 1, max: 40_000 }), fc.nat({ max: 3 }), (given, freeTokens, keepRounds) => {
        const { input } = madeOf(given);
        const stale = placesOf(input).filter(
          ({ one }) => one.lastUsedRound + given.staleRounds <= input.inventory.round,
        );
        const old = placesOf(input).filter(({ one }) => input.inventory.round - one.bornRound >= keepRounds);
        const most = Math.max(...[stale, old].map((some) => some.reduce((sum, { one }) => sum + one.tokens, 0)));
        const need = { freeTokens, keepRounds, limitTokens: input.moment.contextTokens, growthTokens: 1_000 };
        const freed = priceForcedClear(input, need)?.removesTokens ?? 0;
        if (most >= freeTokens) expect(freed).toBeGreaterThanOrEqual(freeTokens);
      }),
      runs,
    );
  });

  it("a forced cut is the one whose room costs least per round, of all that free enough", () => {
    fc.assert(
      fc.property(session, fc.integer({ min: 10, max: 5_000 }), (given, growthTokens) => {
        const { input } = madeOf({ ...given, chance: 0 });
        const need = { freeTokens: 1, keepRounds: Infinity, limitTokens: input.moment.contextTokens, growthTokens };
        const cuts = staleCuts(input);
        const priced = priceForcedClear(input, need);
        expect(priced === undefined).toBe(cuts.length === 0);
        if (priced !== undefined)
          expect(costPerRound(priced, { input, need })).toBeCloseTo(
            Math.min(...cuts.map((cut) => costPerRound(cut, { input, need }))),
            6,
          );
      }),
      runs,
    );
  });
});
