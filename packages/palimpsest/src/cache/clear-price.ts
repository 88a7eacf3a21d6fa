import type { Millis } from "../schema/brand.ts";
import type { CachedPrefixes } from "./cached-prefixes.ts";
import type { Inventory } from "./inventory.ts";
import type { Resident } from "./resident.ts";
import type { CacheRates } from "./cache-rates.ts";

/**
 * When clearing pays. All costs are in input tokens; read and write are the cache's rates.
 *
 *   rent(i)    read · tokens(i) · rounds since i is stale          what keeping it has cost, the coming request included
 *   risk(i)    chance that i is needed again · (write · tokens(i) + read · context)    fetching it: its tokens, one more round
 *   again(d)   (write − read) · tokens that survive behind d       what a cut at d makes the cache write again
 *
 *   warm    a stale result is worth clearing if read · tokens(i) · horizon > risk(i). Cut at the d with the largest
 *           surplus(d) = Σ rent(i) − patience · again(d) over those behind d, if that is positive: a conversation that
 *           has paid the price of a cut in rent can be expected to last as long again (ski rental). A rule may forbid
 *           this: then only a cold cache, or a lack of room, clears
 *   cold    everything behind the longest live prefix is written again in any case: there a stale result is cleared if
 *           (write + read · horizon) · tokens(i) > risk(i), for free
 *   forced  so many tokens have to go: of the cuts that free them, the one whose room costs least per round,
 *           (again(d) + Σ risk(i)) / rounds + read · (context after it + limit) / 2,  rounds = (limit − context after it) / growth,
 *           with fresh results too if necessary. A cut that frees just enough would be needed again a few rounds later
 *
 * Where ages count from the last use, a result that is held (see `Resident`) is not stale before it is superseded: until
 * then only a forced cut takes it.
 */
export interface PriceRule {
  /** A result is stale so many rounds after its last use (or after it came); at once if it is superseded. */
  readonly staleRounds: number;
  readonly agesFrom: "last-use" | "birth";
  /** How much of the price of a warm cut must have been paid in rent. `never`: no cut while the cache is warm. */
  readonly patience: number | "never";
  /** Rounds that a result is assumed to stay if it is not cleared. */
  readonly horizonRounds: number;
  /**
   * Multiplies the table's chance, which is a lower bound: a model that still sees a result uses it without fetching or
   * quoting it. 0: nothing is ever needed again.
   */
  readonly riskWeight: number;
  /** The least that a cut must be worth if nothing forces it. Absent: whatever pays is done. */
  readonly worth?: ClearWorth;
}

/** An unforced cut must reach every minimum. */
export interface ClearWorth {
  /** The room that it makes, as a share of the window. */
  readonly windowShareMin: { readonly warm: number; readonly cold: number };
  /** What it is expected to save, less its price and its risk, in input tokens. */
  readonly savesMin: number;
}

export interface ClearMoment {
  readonly at: Millis;
  readonly rates: CacheRates;
  /** Tokens of the whole request, including the fixed part. */
  readonly contextTokens: number;
  readonly fixedTokens: number;
  /**
   * The chance that a result of this kind, size and age is needed again. The same for all ages of a band of the table.
   */
  readonly needChance: (result: {
    readonly tool: string;
    readonly tokens: number;
    readonly ageRounds: number;
  }) => number;
  /** The model's price of an uncached input token, in dollars. Undefined if it is not known. */
  readonly inputTokenUsd?: number | undefined;
}

export interface ClearInput {
  readonly inventory: Inventory;
  readonly prefixes: CachedPrefixes;
  readonly moment: ClearMoment;
  readonly rule: PriceRule;
}

type ClearReason = "warm" | "cold" | "forced";

/** A cut and what it costs. */
export interface ClearPrice {
  readonly why: ClearReason;
  /** Oldest first. */
  readonly results: readonly Resident[];
  readonly removesTokens: number;
  /** What survives behind the cut and has to be written again. 0 on a cold cache, which writes it anyway. */
  readonly behindTokens: number;
  readonly rentCost: number;
  readonly riskCost: number;
  readonly againCost: number;
  /** The rent that the rule requires. */
  readonly neededRent: number;
  readonly savedPerRound: number;
}

/**
 * Factor from tokens by the inventory's count to tokens of the context as it is counted, which is without what the
 * server withholds.
 */
export function inventoryScale({ inventory, moment }: Pick<ClearInput, "inventory" | "moment">): number {
  const countedTokens = inventory.shownTokens - inventory.withheldTokens;
  return countedTokens <= 0 ? 1 : Math.max(0, moment.contextTokens - moment.fixedTokens) / countedTokens;
}

/** The round since which a result is stale; `Infinity` while it is held. */
export function staleSince(
  { bornRound, lastUsedRound, supersededRound, isHeld }: Resident,
  { staleRounds, agesFrom }: Pick<PriceRule, "staleRounds" | "agesFrom">,
): number {
  if (agesFrom === "birth") return bornRound + staleRounds;
  if (isHeld && supersededRound === undefined) return Infinity;
  return Math.min(lastUsedRound + staleRounds, supersededRound ?? Infinity);
}

/** What a cut is expected to save over the horizon, less what it costs now and the risk, in input tokens. */
export const expectedSaving = (
  { why, removesTokens, savedPerRound, againCost, riskCost }: ClearPrice,
  { rule, moment: { rates } }: Pick<ClearInput, "rule" | "moment">,
): number =>
  savedPerRound * rule.horizonRounds + (why === "cold" ? rates.write * removesTokens : 0) - againCost - riskCost;

/** Infinite if nothing is ever cut on a warm cache. */
export const warmPatience = ({ patience }: Pick<PriceRule, "patience">): number =>
  patience === "never" ? Infinity : patience;

/** Undefined if nothing pays now. Costs a step for every resident. */
export function priceClear(input: ClearInput): ClearPrice | undefined {
  const { inventory, prefixes, moment, rule } = input;
  const { read, write } = moment.rates;
  const patience = warmPatience(rule);
  const scale = inventoryScale(input);
  const liveTokens = prefixes.upTo(Infinity, moment.at);
  const tally = new ClearTally();
  let cut: Cut | undefined;
  let surplus = 0;
  let survivors = 0;
  let offset = inventory.shownTokens;
  for (let resident = inventory.newest; resident !== undefined; resident = resident.before) {
    offset -= resident.tokens + resident.behindTokens;
    const isCold = offset >= liveTokens;
    // Everything older is warm too.
    if (!isCold && patience === Infinity) break;
    const staleFor = 1 + inventory.round - staleSince(resident, rule);
    const tokens = resident.tokens * scale;
    const risk = staleFor < 1 ? Infinity : computeRisk(input, { resident, tokens });
    const isCleared = (read * rule.horizonRounds + (isCold ? write : 0)) * tokens > risk;
    if (!isCold) survivors += resident.behindTokens + (isCleared ? 0 : resident.tokens);
    if (!isCleared) continue;
    tally.add(resident, { tokens, rent: isCold ? 0 : read * tokens * staleFor, risk });
    if (isCold) {
      cut = { why: "cold", length: tally.results.length, behindTokens: 0 };
      continue;
    }
    // The look-up of what lives before the cut is skipped if the cut does not pay even without it.
    if (tally.rent - patience * (write - read) * survivors * scale <= surplus) continue;
    const behindTokens = (survivors + offset - prefixes.upTo(offset, moment.at)) * scale;
    const cutSurplus = tally.rent - patience * (write - read) * behindTokens;
    if (cutSurplus <= surplus) continue;
    surplus = cutSurplus;
    cut = { why: "warm", length: tally.results.length, behindTokens };
  }
  return cut === undefined ? undefined : tally.price({ ...cut, input });
}

interface Cut {
  readonly why: ClearReason;
  /** How many of the tally's results the cut clears. */
  readonly length: number;
  readonly behindTokens: number;
}

/** What a cut has to bring that can't be avoided. */
export interface ForcedNeed {
  /** The least that it has to free, in tokens of the context as it is counted. */
  readonly freeTokens: number;
  /** Results of the last so many rounds always stay. */
  readonly keepRounds: number;
  /** The context at which the next cut is forced. */
  readonly limitTokens: number;
  /** What a round adds to the context. */
  readonly growthTokens: number;
}

/**
 * The cut that frees enough and whose room costs least per round, or the one that frees most. First only what is worth
 * clearing behind a cut, then everything stale, then fresh results too, the oldest first.
 */
export function priceForcedClear(input: ClearInput, need: ForcedNeed): ClearPrice | undefined {
  const { inventory, rule } = input;
  const { round } = inventory;
  const isStale = (resident: Resident): boolean => staleSince(resident, rule) <= round;
  const isWorthIt = (resident: Resident): boolean => isStale(resident) && isWorthRewriting(input, resident);
  const stale = [isWorthIt, isStale];
  let found: ClearPrice | undefined;
  for (const isTaken of [...stale, ...freshByAge(input, need)]) {
    const cut = cheapestRoom(input, { need, isTaken });
    if (cut !== undefined && cut.removesTokens >= need.freeTokens) return cut;
    if ((cut?.removesTokens ?? 0) > (found?.removesTokens ?? 0)) found = cut;
  }
  return found;
}

/** Everything of that age and older, also what is held: from what is nearly stale to what has just come. */
function freshByAge(
  { inventory, rule }: ClearInput,
  { keepRounds }: ForcedNeed,
): readonly ((resident: Resident) => boolean)[] {
  if (keepRounds === Infinity) return [];
  const ages = Math.max(0, rule.staleRounds - keepRounds) + 1;
  return Array.from(
    { length: ages },
    (_, at) =>
      ({ bornRound }) =>
        inventory.round - bornRound >= keepRounds + ages - 1 - at,
  );
}

function cheapestRoom(
  input: ClearInput,
  { need, isTaken }: { readonly need: ForcedNeed; readonly isTaken: (resident: Resident) => boolean },
): ClearPrice | undefined {
  const { inventory, prefixes, moment } = input;
  const scale = inventoryScale(input);
  const isCold = prefixes.isCold(moment.at);
  const tally = new ClearTally();
  let survivors = 0;
  let offset = inventory.shownTokens;
  let cut: Cut | undefined;
  let costPerRound = Infinity;
  for (let resident = inventory.newest; resident !== undefined; resident = resident.before) {
    offset -= resident.tokens + resident.behindTokens;
    survivors += resident.behindTokens;
    const tokens = resident.tokens * scale;
    if (!isTaken(resident)) {
      survivors += resident.tokens;
      continue;
    }
    tally.add(resident, { tokens, rent: 0, risk: computeRisk(input, { resident, tokens }) });
    const behindTokens = isCold ? 0 : (survivors + offset - prefixes.upTo(offset, moment.at)) * scale;
    const cost = tally.removed < need.freeTokens ? Infinity : priceRound(input, { need, tally, behindTokens });
    // As long as nothing frees enough, the longest cut frees most.
    if (cost > costPerRound) continue;
    costPerRound = cost;
    cut = { why: "forced", length: tally.results.length, behindTokens };
  }
  return cut === undefined ? undefined : tally.price({ ...cut, input });
}

function priceRound(
  { moment: { rates, contextTokens } }: ClearInput,
  {
    need,
    tally,
    behindTokens,
  }: { readonly need: ForcedNeed; readonly tally: ClearTally; readonly behindTokens: number },
): number {
  const cost = (rates.write - rates.read) * behindTokens + tally.risk;
  return roomCostPerRound({ ...need, cost, leftTokens: contextTokens - tally.removed, rates });
}

/** What a round costs until the next edit is forced: its share of this one, and reading the context, which grows. */
export function roomCostPerRound({ cost, leftTokens, limitTokens, growthTokens, rates }: RoomInput): number {
  const rounds = Math.max(limitTokens - leftTokens, 0) / growthTokens;
  return cost / rounds + (rates.read * (leftTokens + limitTokens)) / 2;
}

interface RoomInput extends Pick<ForcedNeed, "limitTokens" | "growthTokens"> {
  /** Of the edit, in input tokens. */
  readonly cost: number;
  /** The context after it. */
  readonly leftTokens: number;
  readonly rates: CacheRates;
}

/** Whether a result behind a cut should go with it: it would be written again, and read for the whole horizon. */
function isWorthRewriting(input: ClearInput, resident: Resident): boolean {
  const { write, read } = input.moment.rates;
  const tokens = resident.tokens * inventoryScale(input);
  return (write - read + read * input.rule.horizonRounds) * tokens > computeRisk(input, { resident, tokens });
}

/** Whether clearing a stale result is worth it if the clearing itself is free. */
export const isWorthClearing = (input: ClearInput, resident: Resident): boolean => {
  const tokens = resident.tokens * inventoryScale(input);
  return input.moment.rates.read * input.rule.horizonRounds * tokens > computeRisk(input, { resident, tokens });
};

function computeRisk(
  { inventory, moment, rule }: ClearInput,
  { resident, tokens }: { readonly resident: Resident; readonly tokens: number },
): number {
  if (rule.riskWeight === 0) return 0;
  const ageRounds = inventory.round - resident.lastUsedRound;
  // A superseded result shows a version that is gone: the model would read the file anew.
  if (resident.supersededRound !== undefined) return 0;
  // The size is by the inventory's count, so that the chance changes with the age alone.
  const chance = rule.riskWeight * moment.needChance({ tool: resident.tool, tokens: resident.tokens, ageRounds });
  return chance * (moment.rates.write * tokens + moment.rates.read * moment.contextTokens);
}

/** What a walk from the newest resident to the oldest has gathered. */
class ClearTally {
  readonly results: Resident[] = [];
  readonly #sums: { readonly removed: number; readonly rent: number; readonly risk: number }[] = [];
  removed = 0;
  rent = 0;
  risk = 0;

  add(
    resident: Resident,
    { tokens, rent, risk }: { readonly tokens: number; readonly rent: number; readonly risk: number },
  ): void {
    this.results.push(resident);
    this.removed += tokens;
    this.rent += rent;
    this.risk += risk;
    this.#sums.push({ removed: this.removed, rent: this.rent, risk: this.risk });
  }

  price({ why, behindTokens, length = this.results.length, input }: CutPriceInput): ClearPrice {
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
      neededRent: why === "warm" ? warmPatience(input.rule) * againCost : 0,
      savedPerRound: rates.read * removed,
    };
  }
}

interface CutPriceInput {
  readonly why: ClearReason;
  readonly behindTokens: number;
  /** How many of the first results to take; all if absent. */
  readonly length?: number;
  readonly input: ClearInput;
}
