import {
  type ClearInput,
  priceClear,
  type ClearPrice,
  inventoryScale,
  staleSince,
  warmPatience,
} from "./clear-price.ts";
import type { Resident } from "./resident.ts";
import { quietContextShare, quietMarginTokens, quietRoundsMax } from "./limits.ts";
import { ageBandsRoundsMin } from "./need-bands.ts";

/**
 * Returns what `priceClear` returns, mostly without walking all residents. A walk that found nothing yields an upper
 * bound of every cut's surplus in the rounds to come: what is worth clearing accrues rent, what is not stale yet joins
 * when it is, and what is too risky now joins with all of its rent at the age from which it no longer is. Until one bound
 * is positive, no cut among those residents can pay. Newer residents are few and are looked at each time.
 *
 *   walked  -- nothing pays -->                              quiet until a bound is positive
 *   quiet   -- a resident is used again -->                  quiet at most until it can be stale
 *   quiet   -- one leaves or is superseded, cache cold, other prices, a newer one pays, bound reached -->    walked
 */
export class ClearPlanner {
  #quiet: QuietPeriod | undefined;

  price(input: ClearInput): ClearPrice | undefined {
    // The walk ends where the cache is warm, so there is nothing to remember.
    if (input.rule.patience === "never") return priceClear(input);
    this.#quiet = this.#quiet === undefined ? undefined : afterUses(this.#quiet, input);
    if (this.#quiet !== undefined && isQuiet(this.#quiet, input)) return undefined;
    const price = priceClear(input);
    this.#quiet = price === undefined ? startQuietPeriod(input) : undefined;
    return price;
  }
}

/** What was true at the walk, and how long its answer holds if that stays true. */
interface QuietPeriod {
  readonly input: ClearInput;
  readonly version: number;
  readonly supersededCount: number;
  /**
   * The smallest context, by the inventory's count, for which the answer holds: a smaller context makes fetching again
   * cheaper.
   */
  readonly contextTokensMin: number;
  /** The newest resident of the walk; `newestOffset` is how much was shown before it. */
  readonly newest: Resident | undefined;
  readonly newestOffset: number;
  /** The first round in which a cut might pay. */
  readonly untilRound: number;
  readonly uses: number;
  readonly seenRound: number;
}

/** A resident that is used again is not stale, which only lowers the bounds until it is stale once more. */
function afterUses(quiet: QuietPeriod, { inventory, rule }: ClearInput): QuietPeriod {
  const { uses, round } = inventory;
  if (uses === quiet.uses) return { ...quiet, seenRound: round };
  const staleAgain = rule.agesFrom === "birth" ? 0 : quiet.seenRound + rule.staleRounds;
  return { ...quiet, uses, seenRound: round, untilRound: Math.min(quiet.untilRound, staleAgain) };
}

function isQuiet(quiet: QuietPeriod, input: ClearInput): boolean {
  const { inventory, prefixes, moment } = input;
  const liveTokens = prefixes.upTo(Infinity, moment.at);
  return (
    inventory.round < quiet.untilRound &&
    isSame(quiet, input) &&
    rescaleContext(input) >= quiet.contextTokensMin &&
    (quiet.newest === undefined || quiet.newestOffset < liveTokens) &&
    !mayNewerPay(quiet, { input, liveTokens })
  );
}

/**
 * Whether a cut at a resident newer than the walk might pay or is free. If none does, all of them make older cuts
 * dearer.
 */
function mayNewerPay(
  { newest, contextTokensMin }: QuietPeriod,
  { input, liveTokens }: { readonly input: ClearInput; readonly liveTokens: number },
): boolean {
  const { inventory, moment, rule } = input;
  const { read, write } = moment.rates;
  const rewriteRate = warmPatience(rule) * (write - read);
  let surplus = 0;
  let offset = inventory.shownTokens;
  for (let resident = inventory.newest; resident !== undefined && resident !== newest; resident = resident.before) {
    offset -= resident.tokens + resident.behindTokens;
    const staleFor = 1 + inventory.round - staleSince(resident, rule);
    if (offset >= liveTokens) {
      // Everything here is written in any case: clearing a stale result is free, and what stays adds to the price of no
      // cut.
      if (staleFor >= 1) return true;
      continue;
    }
    surplus -= rewriteRate * (resident.behindTokens + resident.tokens);
    if (roundsUntilClearable(input, { resident, staleFor, contextTokensMin }) > 0) continue;
    surplus += (read * staleFor + rewriteRate) * resident.tokens;
    if (surplus > -quietMarginTokens) return true;
  }
  return false;
}

function isSame({ input: walked, version, supersededCount }: QuietPeriod, input: ClearInput): boolean {
  const { inventory, prefixes, moment, rule } = input;
  return (
    inventory === walked.inventory &&
    inventory.version === version &&
    inventory.supersededCount === supersededCount &&
    prefixes === walked.prefixes &&
    rule === walked.rule &&
    moment.needChance === walked.moment.needChance &&
    moment.rates.read === walked.moment.rates.read &&
    moment.rates.write === walked.moment.rates.write
  );
}

/** The context of the request by the inventory's count. */
const rescaleContext = (input: ClearInput): number => input.moment.contextTokens / inventoryScale(input);

function startQuietPeriod(input: ClearInput): QuietPeriod | undefined {
  const { inventory, moment } = input;
  // If writing is cheaper than reading, what comes behind a cut does not make it dearer.
  if (moment.rates.write < moment.rates.read) return undefined;
  const contextTokensMin = rescaleContext(input) * quietContextShare;
  const rounds = quietRounds(input, contextTokensMin);
  const { newest, round } = inventory;
  return {
    input,
    version: inventory.version,
    supersededCount: inventory.supersededCount,
    contextTokensMin,
    newest,
    newestOffset: newest === undefined ? 0 : inventory.shownTokens - newest.tokens - newest.behindTokens,
    untilRound: rounds === 0 ? round : round + rounds + 1,
    uses: inventory.uses,
    seenRound: round,
  };
}

/** The number of rounds in which no cut at the present residents can pay. Costs a step for every resident. */
function quietRounds(input: ClearInput, contextTokensMin: number): number {
  const { inventory, prefixes, moment, rule } = input;
  const { read, write } = moment.rates;
  const rewriteRate = warmPatience(rule) * (write - read);
  const bound = new SurplusBound(read);
  const liveEnds = prefixes.liveEnds(moment.at);
  const liveTokens = liveEnds.at(-1) ?? 0;
  let offset = inventory.shownTokens;
  for (let resident = inventory.newest; resident !== undefined && bound.rounds > 0; resident = resident.before) {
    offset -= resident.tokens + resident.behindTokens;
    const staleFor = 1 + inventory.round - staleSince(resident, rule);
    const joins = roundsUntilClearable(input, { resident, staleFor, contextTokensMin });
    bound.add(rewriteRate * -(resident.behindTokens + resident.tokens));
    bound.join(joins, { cost: (read * staleFor + rewriteRate) * resident.tokens, tokens: resident.tokens });
    while ((liveEnds.at(-1) ?? 0) > offset) liveEnds.pop();
    const between = offset <= liveTokens ? offset - (liveEnds.at(-1) ?? 0) : 0;
    while (bound.rounds > 0 && bound.value - rewriteRate * between > -quietMarginTokens) bound.shorten();
  }
  return bound.rounds;
}

/** In how many rounds the resident is stale and worth clearing, at the earliest; 0 if it is now. */
function roundsUntilClearable(
  { inventory, moment, rule }: ClearInput,
  {
    resident,
    staleFor,
    contextTokensMin,
  }: { readonly resident: Resident; readonly staleFor: number; readonly contextTokensMin: number },
): number {
  const { read, write } = moment.rates;
  const worth = read * rule.horizonRounds * resident.tokens;
  const stale = Math.max(0, 1 - staleFor);
  if (rule.riskWeight === 0 || resident.supersededRound !== undefined) return worth > 0 ? stale : Infinity;
  const fetchCost = rule.riskWeight * (write * resident.tokens + read * contextTokensMin);
  const ageNow = inventory.round - resident.lastUsedRound;
  const { tool, tokens } = resident;
  const isWorth = (ageRounds: number): boolean => worth > fetchCost * moment.needChance({ tool, tokens, ageRounds });
  if (isWorth(ageNow + stale)) return stale;
  const last = ageNow + quietRoundsMax;
  const age = ageBandsRoundsMin.find((min) => min > ageNow + stale && min <= last && isWorth(min));
  return age === undefined ? Infinity : age - ageNow;
}

/** An upper bound of the surplus, `rounds` rounds from now, of a cut over the residents walked so far. */
class SurplusBound {
  readonly #read: number;
  readonly #costs = new Float64Array(quietRoundsMax + 1);
  readonly #tokens = new Float64Array(quietRoundsMax + 1);
  #cost = 0;
  #accruing = 0;
  rounds = quietRoundsMax;

  constructor(read: number) {
    this.#read = read;
  }

  get value(): number {
    return this.#cost + this.#read * this.rounds * this.#accruing;
  }

  add(cost: number): void {
    this.#cost += cost;
  }

  /** Counts from that round on, and grows by its rent. */
  join(rounds: number, { cost, tokens }: { readonly cost: number; readonly tokens: number }): void {
    if (rounds > this.rounds) return;
    this.#costs[rounds] = (this.#costs[rounds] ?? 0) + cost;
    this.#tokens[rounds] = (this.#tokens[rounds] ?? 0) + tokens;
    this.#cost += cost;
    this.#accruing += tokens;
  }

  /** Looks one round less ahead: what joins in the last round no longer counts. */
  shorten(): void {
    this.#cost -= this.#costs[this.rounds] ?? 0;
    this.#accruing -= this.#tokens[this.rounds] ?? 0;
    this.rounds -= 1;
  }
}
