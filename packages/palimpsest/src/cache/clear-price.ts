import type { Millis } from "../schema/brand.ts";
import type { CachedPrefixes } from "./cached-prefixes.ts";
import type { Inventory, Resident } from "./inventory.ts";
import type { CacheRates } from "./cache-rates.ts";

/**
 * When clearing pays. All money in input tokens; read and write are the cache's rates.
 *
 *   rent(i)    read · tokens(i) · rounds since i is stale          what keeping it has cost, the coming request included
 *   risk(i)    chance that i is needed again · (write · tokens(i) + read · context)    fetching it: its tokens, one more round
 *   again(d)   (write − read) · tokens that survive behind d       what a cut at d makes the cache write again
 *
 *   warm    of what is stale goes what is worth it: read · tokens(i) · horizon > risk(i). Cut at the d with the largest
 *           surplus(d) = Σ rent(i) − patience · again(d) over these behind d, if that is positive: who has paid the price
 *           of a cut in rent has stayed long enough to expect as much again (ski rental)
 *   cold    what lies behind the longest prefix that still lives is written again in any case: there what is stale goes if
 *           (write + read · horizon) · tokens(i) > risk(i), at no price
 *   forced  so many tokens have to go: the cheapest cut that frees them, fresh results too if it must be
 */
export interface PriceRule {
  /** A result is stale so many rounds after its last use (or after it came); at once where it is superseded. */
  readonly staleRounds: number;
  readonly agesFrom: "last-use" | "birth";
  readonly patience: number;
  /** Rounds that a result which is not cleared is taken to stay. */
  readonly horizonRounds: number;
  /** Times the table's chance; 0: nothing is ever needed again. */
  readonly riskWeight: number;
}

export interface ClearMoment {
  readonly at: Millis;
  readonly rates: CacheRates;
  /** Of the whole request, the fixed part included. */
  readonly contextTokens: number;
  readonly fixedTokens: number;
  /** That a result of this kind, size and age is needed again. The same for all ages of a band of the table. */
  readonly needChance: (result: {
    readonly tool: string;
    readonly tokens: number;
    readonly ageRounds: number;
  }) => number;
}

export interface ClearInput {
  readonly inventory: Inventory;
  readonly prefixes: CachedPrefixes;
  readonly moment: ClearMoment;
  readonly rule: PriceRule;
}

type ClearReason = "warm" | "cold" | "forced";

/** A cut, with its arithmetic. */
export interface ClearPrice {
  readonly why: ClearReason;
  /** Oldest first. */
  readonly results: readonly Resident[];
  readonly removesTokens: number;
  /** What survives from the cut on and has to be written again; 0 on a cold cache, which writes it anyway. */
  readonly behindTokens: number;
  readonly rentCost: number;
  readonly riskCost: number;
  readonly againCost: number;
  /** What the rule asks of the rent. */
  readonly neededRent: number;
  readonly savedPerRound: number;
}

/** Tokens by the inventory's count → tokens of the context as it is counted, which is without what the server withholds. */
export function inventoryScale({ inventory, moment }: Pick<ClearInput, "inventory" | "moment">): number {
  const countedTokens = inventory.shownTokens - inventory.withheldTokens;
  return countedTokens <= 0 ? 1 : Math.max(0, moment.contextTokens - moment.fixedTokens) / countedTokens;
}

export const staleSince = (
  one: Resident,
  { staleRounds, agesFrom }: Pick<PriceRule, "staleRounds" | "agesFrom">,
): number =>
  agesFrom === "birth"
    ? one.bornRound + staleRounds
    : Math.min(one.lastUsedRound + staleRounds, one.supersededRound ?? Infinity);

/** Undefined: nothing pays now. Costs a step for every resident. */
export function priceClear(input: ClearInput): ClearPrice | undefined {
  const { inventory, prefixes, moment, rule } = input;
  const { read, write } = moment.rates;
  const scale = inventoryScale(input);
  const liveTokens = prefixes.upTo(Infinity, moment.at);
  const found = new ClearTally();
  let chosen: Cut | undefined;
  let surplus = 0;
  let survivors = 0;
  let offset = inventory.shownTokens;
  for (let one = inventory.newest; one !== undefined; one = one.before) {
    offset -= one.tokens + one.behindTokens;
    const isCold = offset >= liveTokens;
    const staleFor = 1 + inventory.round - staleSince(one, rule);
    const tokens = one.tokens * scale;
    const risk = staleFor < 1 ? Infinity : computeRisk(input, { one, tokens });
    const goes = (read * rule.horizonRounds + (isCold ? write : 0)) * tokens > risk;
    if (!isCold) survivors += one.behindTokens + (goes ? 0 : one.tokens);
    if (!goes) continue;
    found.add(one, { tokens, rent: isCold ? 0 : read * tokens * staleFor, risk });
    if (isCold) {
      chosen = { why: "cold", length: found.results.length, behindTokens: 0 };
      continue;
    }
    // Looking up what lives before the cut is left out where the cut does not pay even without it.
    if (found.rent - rule.patience * (write - read) * survivors * scale <= surplus) continue;
    const behindTokens = (survivors + offset - prefixes.upTo(offset, moment.at)) * scale;
    const left = found.rent - rule.patience * (write - read) * behindTokens;
    if (left <= surplus) continue;
    surplus = left;
    chosen = { why: "warm", length: found.results.length, behindTokens };
  }
  return chosen === undefined ? undefined : found.priced({ ...chosen, input });
}

interface Cut {
  readonly why: ClearReason;
  /** How many of those found it takes. */
  readonly length: number;
  readonly behindTokens: number;
}

/** The cheapest cut that frees so many tokens (of the context as it is counted), or the one that frees most. `keepRounds`: newer results stay whatever happens. */
export function priceForcedClear(
  input: ClearInput,
  { freeTokens, keepRounds }: { readonly freeTokens: number; readonly keepRounds: number },
): ClearPrice | undefined {
  const { inventory, rule } = input;
  const { round } = inventory;
  const stale = priceForcedAmong(input, { freeTokens, isTaken: (one) => staleSince(one, rule) <= round });
  if (stale !== undefined && stale.removesTokens >= freeTokens) return stale;
  return priceForcedAmong(input, { freeTokens, isTaken: (one) => round - one.bornRound >= keepRounds });
}

function priceForcedAmong(
  input: ClearInput,
  { freeTokens, isTaken }: { readonly freeTokens: number; readonly isTaken: (one: Resident) => boolean },
): ClearPrice | undefined {
  const { inventory, prefixes, moment } = input;
  const scale = inventoryScale(input);
  const found = new ClearTally();
  let survivors = 0;
  let offset = inventory.shownTokens;
  let liveTokens = offset;
  let behindTokens = 0;
  // From the end: the first cut that frees enough has the fewest survivors behind it. What else lies behind the same live
  // prefix goes along: it is written again in any case.
  for (let one = inventory.newest; one !== undefined; one = one.before) {
    offset -= one.tokens + one.behindTokens;
    if (found.removed >= freeTokens && offset < liveTokens) break;
    survivors += one.behindTokens;
    const tokens = one.tokens * scale;
    if (!isTaken(one)) {
      survivors += one.tokens;
      continue;
    }
    found.add(one, { tokens, rent: 0, risk: computeRisk(input, { one, tokens }) });
    liveTokens = prefixes.upTo(offset, moment.at);
    behindTokens = (survivors + offset - liveTokens) * scale;
  }
  if (found.results.length === 0) return undefined;
  const isCold = prefixes.isCold(moment.at);
  return found.priced({ why: "forced", behindTokens: isCold ? 0 : behindTokens, input });
}

/** Of a stale result: is it worth more gone than kept, where making it go costs nothing? */
export const isWorthClearing = (input: ClearInput, one: Resident): boolean => {
  const tokens = one.tokens * inventoryScale(input);
  return input.moment.rates.read * input.rule.horizonRounds * tokens > computeRisk(input, { one, tokens });
};

function computeRisk(
  { inventory, moment, rule }: ClearInput,
  { one, tokens }: { readonly one: Resident; readonly tokens: number },
): number {
  if (rule.riskWeight === 0) return 0;
  const ageRounds = inventory.round - one.lastUsedRound;
  // What is superseded shows a version that is gone: whoever wants the file reads it as it is now.
  if (one.supersededRound !== undefined) return 0;
  // The size by the inventory's count: so that a chance changes with the age alone.
  const chance = rule.riskWeight * moment.needChance({ tool: one.tool, tokens: one.tokens, ageRounds });
  return chance * (moment.rates.write * tokens + moment.rates.read * moment.contextTokens);
}

/** What a walk from the newest to the oldest has gathered. */
class ClearTally {
  readonly results: Resident[] = [];
  readonly #sums: { readonly removed: number; readonly rent: number; readonly risk: number }[] = [];
  removed = 0;
  rent = 0;
  risk = 0;

  add(
    one: Resident,
    { tokens, rent, risk }: { readonly tokens: number; readonly rent: number; readonly risk: number },
  ): void {
    this.results.push(one);
    this.removed += tokens;
    this.rent += rent;
    this.risk += risk;
    this.#sums.push({ removed: this.removed, rent: this.rent, risk: this.risk });
  }

  priced({ why, behindTokens, length = this.results.length, input }: CutPriceInput): ClearPrice {
    const { rates } = input.moment;
    const { removed = 0, rent = 0, risk = 0 } = this.#sums[length - 1] ?? {};
    const againCost = (rates.write - rates.read) * behindTokens;
    return {
      why,
      results: this.results.slice(0, length).toReversed(),
      removesTokens: removed,
      behindTokens,
      rentCost: rent,
      riskCost: risk,
      againCost,
      neededRent: why === "warm" ? input.rule.patience * againCost : 0,
      savedPerRound: rates.read * removed,
    };
  }
}

interface CutPriceInput {
  readonly why: ClearReason;
  readonly behindTokens: number;
  /** Of those found, the first so many; all where it is absent. */
  readonly length?: number;
  readonly input: ClearInput;
}
