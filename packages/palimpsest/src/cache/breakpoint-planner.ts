import type { Message } from "../schema/block.ts";
import type { Millis, ToolUseId } from "../schema/brand.ts";
import { canBeMarked, type MessagePlace, type BreakpointStrategy } from "./breakpoint.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import type { Inventory } from "./inventory.ts";
import { type Lifetime, millisByLifetime } from "./lifetime.ts";
import { gapChanceRare, gapChances, gapPriorRounds } from "./limits.ts";
import type { CacheRates } from "./cache-rates.ts";

/** Where a request is marked, in tokens of the inventory: what it leaves in the cache once its reply begins. */
export interface PlannedBreakpoints {
  readonly lifetime: Lifetime;
  readonly frontier: MessagePlace | undefined;
  readonly upToTokens: readonly number[];
}

export interface BreakpointPlanInput {
  readonly inventory: Pick<Inventory, "oldest" | "shownTokens" | "headTokens">;
  readonly messages: readonly Message[];
  readonly marks: BreakpointStrategy;
  readonly at: Millis;
  readonly fixedTokens: number;
  /** The model's rates at either lifetime. Undefined if there is nothing to choose. */
  readonly rates: LifetimeInput["rates"] | undefined;
}

/**
 * Plans where the requests of one conversation are marked besides the places that every strategy has, how long the
 * marks live, and what the provider's cache holds afterwards. Only the strategy `planned` has a frontier (the last
 * block before the oldest result that may be cleared) and chooses a lifetime.
 */
export class BreakpointPlanner {
  readonly prefixes = new CachedPrefixes();
  /**
   * The lifetime if nothing is chosen. Plans assume it too: a cut causes much to be written again, and that is not
   * marked for longer.
   */
  readonly lifetime: Lifetime;
  readonly #gaps = new GapChance();
  #sentAt: Millis | undefined;
  #oldest: Frontier | undefined;
  /** Where the last request ended. The next one reads up to there and so keeps it alive. */
  #endTokens: number | undefined;

  constructor(lifetime: Lifetime) {
    this.lifetime = lifetime;
  }

  /** Plans the next request. Does not change what the cache is taken to hold. */
  plan(input: BreakpointPlanInput): PlannedBreakpoints {
    const { inventory, messages, marks } = input;
    const { oldest, shownTokens, headTokens } = inventory;
    if (marks !== "planned") return { lifetime: this.lifetime, frontier: undefined, upToTokens: [shownTokens] };
    const frontier = oldest === undefined ? undefined : this.#frontier(messages, oldest.toolUse);
    const upToTokens = frontier === undefined ? [shownTokens] : [headTokens, shownTokens];
    return { lifetime: this.#choose(input), frontier, upToTokens };
  }

  /**
   * Call it when the reply to a planned request begins: what was written at its marks can be read and lives from when
   * it was sent.
   */
  sent({ lifetime, upToTokens }: PlannedBreakpoints, at: Millis): void {
    if (this.#sentAt !== undefined) this.#gaps.observe(at - this.#sentAt);
    this.#sentAt = at;
    const previousEnd = this.#endTokens === undefined ? [] : [this.#endTokens];
    this.prefixes.sent({
      at,
      written: upToTokens.map((upTo) => ({ upToTokens: upTo, lifetime })),
      refreshed: [...upToTokens.slice(0, -1), ...previousEnd],
    });
    this.#endTokens = upToTokens.at(-1);
  }

  /** Call it when an edit changed what stands behind so many tokens. */
  cut(tokens: number): void {
    this.prefixes.cut(tokens);
    if ((this.#endTokens ?? 0) > tokens) this.#endTokens = undefined;
  }

  #choose({ inventory, at, fixedTokens, rates }: BreakpointPlanInput): Lifetime {
    if (rates === undefined) return this.lifetime;
    const { shownTokens } = inventory;
    const { prefixes } = this;
    return lifetimeNow({ gapChance: this.#gaps.value, rates, at, prefixes, shownTokens, fixedTokens });
  }

  /** Searches only if the oldest result is another one than last time, or has moved. */
  #frontier(messages: readonly Message[], toolUse: ToolUseId): MessagePlace | undefined {
    const known = this.#oldest;
    if (known?.toolUse === toolUse && isBefore(messages, known)) return known.place;
    const place = placeBefore(messages, toolUse);
    this.#oldest = place === undefined ? undefined : { toolUse, place };
    return place;
  }
}

interface Frontier {
  readonly toolUse: ToolUseId;
  readonly place: MessagePlace;
}

function placeBefore(messages: readonly Message[], toolUse: ToolUseId): MessagePlace | undefined {
  for (const [message, { content }] of messages.entries()) {
    const at = content.findIndex((block) => block.type === "tool_result" && block.tool_use_id === toolUse);
    if (at > 0) return markablePlace(messages, { part: "messages", message, at: at - 1 });
    const previousLength = messages[message - 1]?.content.length ?? 0;
    if (at === 0) return markablePlace(messages, { part: "messages", message: message - 1, at: previousLength - 1 });
  }
  return undefined;
}

function markablePlace(messages: readonly Message[], place: MessagePlace): MessagePlace | undefined {
  const block = messages[place.message]?.content[place.at];
  return block !== undefined && canBeMarked(block) ? place : undefined;
}

function isBefore(messages: readonly Message[], { toolUse, place }: Frontier): boolean {
  const content = messages[place.message]?.content;
  const next =
    content?.[place.at + 1] ?? (place.at + 1 === content?.length ? messages[place.message + 1]?.content[0] : undefined);
  return next?.type === "tool_result" && next.tool_use_id === toolUse;
}

/**
 * The chance that a request comes so late that only the long lifetime would have lasted: the rate in recorded sessions so
 * many rounds after such a gap, and the session's own rate as it becomes known.
 */
export class GapChance {
  #rounds = 0;
  #gaps = 0;
  #roundsSinceGap = Infinity;

  get value(): number {
    const { chance } = gapChances.find(({ roundsMax }) => this.#roundsSinceGap < roundsMax) ?? {
      chance: gapChanceRare,
    };
    return (chance * gapPriorRounds + this.#gaps) / (gapPriorRounds + this.#rounds);
  }

  /** `gapMillis` is the time between the starts of two requests. */
  observe(gapMillis: number): void {
    this.#rounds += 1;
    this.#roundsSinceGap += 1;
    if (gapMillis < millisByLifetime["5m"] || gapMillis >= millisByLifetime["1h"]) return;
    this.#gaps += 1;
    this.#roundsSinceGap = 0;
  }
}

interface LifetimeInput {
  /** The chance that the next request comes between five minutes and an hour from now. */
  readonly gapChance: number;
  readonly rates: Readonly<Record<Lifetime, CacheRates>>;
  /** Tokens that this request writes. */
  readonly newTokens: number;
  /** Tokens of the request that no prefix of the long lifetime holds. */
  readonly uncoveredTokens: number;
}

/**
 * Chooses an hour if its surcharge is less than the expected cost of writing again without it. A written prefix holds
 * everything before it, so one small request marked for an hour covers a whole conversation.
 */
export function chooseLifetime({ gapChance, rates, newTokens, uncoveredTokens }: LifetimeInput): Lifetime {
  const surcharge = (rates["1h"].write - rates["5m"].write) * newTokens;
  const saved = gapChance * (rates["5m"].write - rates["5m"].read) * uncoveredTokens;
  return saved > surcharge ? "1h" : "5m";
}

interface LifetimeMoment extends Pick<LifetimeInput, "gapChance" | "rates"> {
  readonly at: Millis;
  readonly prefixes: CachedPrefixes;
  /** Tokens of everything the request shows, by the count of the prefixes. */
  readonly shownTokens: number;
  readonly fixedTokens: number;
}

/** The lifetime for a request that is about to be sent. */
export function lifetimeNow({ gapChance, rates, at, prefixes, shownTokens, fixedTokens }: LifetimeMoment): Lifetime {
  const cached = prefixes.upTo(shownTokens, at);
  const covered = Math.min(prefixes.hourUpTo(at), shownTokens);
  return chooseLifetime({
    gapChance,
    rates,
    newTokens: shownTokens - cached + (cached === 0 ? fixedTokens : 0),
    uncoveredTokens: shownTokens - covered + (covered === 0 ? fixedTokens : 0),
  });
}
