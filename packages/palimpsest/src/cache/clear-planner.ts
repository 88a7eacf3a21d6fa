import { type ClearInput, priceClear, type ClearPrice, inventoryScale, staleSince } from "./clear-price.ts";
import type { Resident } from "./inventory.ts";
import { quietContextShare, quietMarginTokens, quietRoundsMax } from "./limits.ts";
import { ageBandsRoundsMin } from "./need-bands.ts";

/**
 * Says what `priceClear` says, and mostly without its walk. A walk that found nothing yields an upper bound of every
 * cut's surplus in the rounds to come: what is worth clearing accrues its rent, what will be stale joins when it is, what
 * is too risky now joins with all of its rent at the age from which it is not. Until one bound is positive no cut can pay
 * among what stood then; what came since is few, and is looked at each time.
 *
 *   walked  -- nothing pays -->                              quiet until a bound is positive
 *   quiet   -- used again -->                                quiet until that can be stale, at most
 *   quiet   -- left, superseded, cold, other prices, what came since pays, or the bound is reached -->    walked
 */
export class ClearPlanner {
  #quiet: QuietPeriod | undefined;

  price(input: ClearInput): ClearPrice | undefined {
    this.#quiet = this.#quiet === undefined ? undefined : afterUses(this.#quiet, input);
    if (this.#quiet !== undefined && isQuiet(this.#quiet, input)) return undefined;
    const priced = priceClear(input);
    this.#quiet = priced === undefined ? startQuietPeriod(input) : undefined;
    return priced;
  }
}

/** What was true at the walk, and how long its answer holds where that stays true. */
interface QuietPeriod {
  readonly input: ClearInput;
  readonly version: number;
  readonly supersededCount: number;
  /** The context by the inventory's count, at least: a smaller one makes fetching again cheaper. */
  readonly contextTokensMin: number;
  /** The newest that was walked over, and how much was shown before it. */
  readonly newest: Resident | undefined;
  readonly newestOffset: number;
  /** The first round in which a cut might pay. */
  readonly untilRound: number;
  readonly uses: number;
  readonly seenRound: number;
}

/** What is used again is not stale, which only lowers the bounds; until it is stale once more. */
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

/** Whether a cut at what came since the walk might pay, or is free. If none does, all of it makes older cuts dearer. */
function mayNewerPay(
  { newest, contextTokensMin }: QuietPeriod,
  { input, liveTokens }: { readonly input: ClearInput; readonly liveTokens: number },
): boolean {
  const { inventory, moment, rule } = input;
  const { read, write } = moment.rates;
  const again = rule.patience * (write - read);
  let surplus = 0;
  let offset = inventory.shownTokens;
  for (let one = inventory.newest; one !== undefined && one !== newest; one = one.before) {
    offset -= one.tokens + one.behindTokens;
    const staleFor = 1 + inventory.round - staleSince(one, rule);
    if (offset >= liveTokens) {
      // Written in any case: what is stale goes at no price, and what stays costs no cut anything.
      if (staleFor >= 1) return true;
      continue;
    }
    surplus -= again * (one.behindTokens + one.tokens);
    if (roundsUntilClearable(input, { one, staleFor, contextTokensMin }) > 0) continue;
    surplus += (read * staleFor + again) * one.tokens;
    if (surplus > -quietMarginTokens) return true;
  }
  return false;
}

function isSame({ input, version, supersededCount }: QuietPeriod, now: ClearInput): boolean {
  const { inventory, prefixes, moment, rule } = now;
  return (
    inventory === input.inventory &&
    inventory.version === version &&
    inventory.supersededCount === supersededCount &&
    prefixes === input.prefixes &&
    rule === input.rule &&
    moment.needChance === input.moment.needChance &&
    moment.rates.read === input.moment.rates.read &&
    moment.rates.write === input.moment.rates.write
  );
}

/** Of the request, by the inventory's count. */
const rescaleContext = (input: ClearInput): number => input.moment.contextTokens / inventoryScale(input);

function startQuietPeriod(input: ClearInput): QuietPeriod | undefined {
  const { inventory, moment } = input;
  // Where writing is no dearer than reading, what comes behind a cut makes it no dearer.
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

/** For so many rounds no cut at what stands now can pay. Costs a step for every resident. */
function quietRounds(input: ClearInput, contextTokensMin: number): number {
  const { inventory, prefixes, moment, rule } = input;
  const { read, write } = moment.rates;
  const again = rule.patience * (write - read);
  const bound = new SurplusBound(read);
  const liveEnds = prefixes.liveEnds(moment.at);
  const liveTokens = liveEnds.at(-1) ?? 0;
  let offset = inventory.shownTokens;
  for (let one = inventory.newest; one !== undefined && bound.rounds > 0; one = one.before) {
    offset -= one.tokens + one.behindTokens;
    const staleFor = 1 + inventory.round - staleSince(one, rule);
    const joins = roundsUntilClearable(input, { one, staleFor, contextTokensMin });
    bound.add(again * -(one.behindTokens + one.tokens));
    bound.join(joins, { cost: (read * staleFor + again) * one.tokens, tokens: one.tokens });
    while ((liveEnds.at(-1) ?? 0) > offset) liveEnds.pop();
    const between = offset <= liveTokens ? offset - (liveEnds.at(-1) ?? 0) : 0;
    while (bound.rounds > 0 && bound.value - again * between > -quietMarginTokens) bound.shorten();
  }
  return bound.rounds;
}

/** In how many rounds it is stale and worth clearing, at the earliest; 0: it is. */
function roundsUntilClearable(
  { inventory, moment, rule }: ClearInput,
  {
    one,
    staleFor,
    contextTokensMin,
  }: { readonly one: Resident; readonly staleFor: number; readonly contextTokensMin: number },
): number {
  const { read, write } = moment.rates;
  const worth = read * rule.horizonRounds * one.tokens;
  const stale = Math.max(0, 1 - staleFor);
  if (rule.riskWeight === 0 || one.supersededRound !== undefined) return worth > 0 ? stale : Infinity;
  const again = rule.riskWeight * (write * one.tokens + read * contextTokensMin);
  const ageNow = inventory.round - one.lastUsedRound;
  const { tool, tokens } = one;
  const isWorth = (ageRounds: number): boolean => worth > again * moment.needChance({ tool, tokens, ageRounds });
  if (isWorth(ageNow + stale)) return stale;
  const last = ageNow + quietRoundsMax;
  const age = ageBandsRoundsMin.find((min) => min > ageNow + stale && min <= last && isWorth(min));
  return age === undefined ? Infinity : age - ageNow;
}

/** An upper bound of the surplus of a cut over what was walked over so far, so many rounds from now. */
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

  /** From that round on it counts, and grows by its rent. */
  join(rounds: number, { cost, tokens }: { readonly cost: number; readonly tokens: number }): void {
    if (rounds > this.rounds) return;
    this.#costs[rounds] = (this.#costs[rounds] ?? 0) + cost;
    this.#tokens[rounds] = (this.#tokens[rounds] ?? 0) + tokens;
    this.#cost += cost;
    this.#accruing += tokens;
  }

  /** A round less: what joins in the last one does not count any more. */
  shorten(): void {
    this.#cost -= this.#costs[this.rounds] ?? 0;
    this.#accruing -= this.#tokens[this.rounds] ?? 0;
    this.rounds -= 1;
  }
}
