import type { Message } from "../schema/block.ts";
import type { Millis, ToolUseId } from "../schema/brand.ts";
import { canBeMarked, type MessagePlace, type BreakpointStrategy } from "./breakpoint.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import type { Inventory } from "./inventory.ts";
import { type Lifetime, millisByLifetime } from "./lifetime.ts";
import { gapsPrior } from "./limits.ts";
import type { CacheRates } from "./cache-rates.ts";

/** Where a request is marked, in the inventory's count: what it leaves in the cache once its reply begins. */
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
  /** Of the model, at either lifetime; undefined where there is nothing to choose. */
  readonly rates: LifetimeInput["rates"] | undefined;
}

/**
 * Where the requests of one conversation are marked beside the places that every way has, how long that lives, and what
 * the provider's cache holds of it afterwards. Only a way that plans its marks has a frontier, the last block before the
 * oldest result that may be cleared, and chooses a lifetime.
 */
export class BreakpointPlanner {
  readonly prefixes = new CachedPrefixes();
  /** Where nothing is chosen. Plans reckon with it too: a cut has much written again, and that is marked for no longer. */
  readonly lifetime: Lifetime;
  readonly #gaps = new GapChance();
  #sentAt: Millis | undefined;
  #oldest: Frontier | undefined;
  /** Where the last request ended: the next one reads up to there, and so keeps it alive. */
  #endTokens: number | undefined;

  constructor(lifetime: Lifetime) {
    this.lifetime = lifetime;
  }

  /** Of the next request. Changes nothing of what the cache is taken to hold. */
  plan(marking: BreakpointPlanInput): PlannedBreakpoints {
    const { inventory, messages, marks } = marking;
    const { oldest, shownTokens, headTokens } = inventory;
    if (marks !== "planned") return { lifetime: this.lifetime, frontier: undefined, upToTokens: [shownTokens] };
    const frontier = oldest === undefined ? undefined : this.#frontier(messages, oldest.toolUse);
    const upToTokens = frontier === undefined ? [shownTokens] : [headTokens, shownTokens];
    return { lifetime: this.#choose(marking), frontier, upToTokens };
  }

  /** Its reply began: what it was marked at can be read, and lives from when it was sent. */
  sent({ lifetime, upToTokens }: PlannedBreakpoints, at: Millis): void {
    if (this.#sentAt !== undefined) this.#gaps.observe(at - this.#sentAt);
    this.#sentAt = at;
    const before = this.#endTokens === undefined ? [] : [this.#endTokens];
    this.prefixes.sent({
      at,
      written: upToTokens.map((upTo) => ({ upToTokens: upTo, lifetime })),
      refreshed: [...upToTokens.slice(0, -1), ...before],
    });
    this.#endTokens = upToTokens.at(-1);
  }

  /** An edit changed what stands behind so many tokens. */
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

  /** Looked for only where the oldest is another than last time, or stands elsewhere. */
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
    const before = messages[message - 1]?.content.length ?? 0;
    if (at === 0) return markablePlace(messages, { part: "messages", message: message - 1, at: before - 1 });
  }
  return undefined;
}

function markablePlace(messages: readonly Message[], place: MessagePlace): MessagePlace | undefined {
  const block = messages[place.message]?.content[place.at];
  return block !== undefined && canBeMarked(block) ? place : undefined;
}

function isBefore(messages: readonly Message[], { toolUse, place }: Frontier): boolean {
  const own = messages[place.message]?.content;
  const next =
    own?.[place.at + 1] ?? (place.at + 1 === own?.length ? messages[place.message + 1]?.content[0] : undefined);
  return next?.type === "tool_result" && next.tool_use_id === toolUse;
}

/** How often a request comes so late that only the long lifetime would have lasted. Starts from what recorded sessions have. */
export class GapChance {
  #rounds: number = gapsPrior.rounds;
  #gaps: number = gapsPrior.gaps;

  get value(): number {
    return this.#gaps / this.#rounds;
  }

  /** Between the starts of two requests. */
  observe(gapMillis: number): void {
    this.#rounds += 1;
    if (gapMillis >= millisByLifetime["5m"] && gapMillis < millisByLifetime["1h"]) this.#gaps += 1;
  }
}

interface LifetimeInput {
  /** That the next request comes between five minutes and an hour from now. */
  readonly gapChance: number;
  readonly rates: Readonly<Record<Lifetime, CacheRates>>;
  /** What this request writes. */
  readonly newTokens: number;
  /** Of the request, what no prefix of the long lifetime holds. */
  readonly uncoveredTokens: number;
}

/**
 * An hour for what this request writes, if that is cheaper than what is likely to be written again without it. A written
 * prefix holds everything before it, so one small request marked for an hour covers a whole conversation.
 */
export function chooseLifetime({ gapChance, rates, newTokens, uncoveredTokens }: LifetimeInput): Lifetime {
  const dearer = (rates["1h"].write - rates["5m"].write) * newTokens;
  const saved = gapChance * (rates["5m"].write - rates["5m"].read) * uncoveredTokens;
  return saved > dearer ? "1h" : "5m";
}

interface LifetimeMoment extends Pick<LifetimeInput, "gapChance" | "rates"> {
  readonly at: Millis;
  readonly prefixes: CachedPrefixes;
  /** Of everything the request shows, in the prefixes' count. */
  readonly shownTokens: number;
  readonly fixedTokens: number;
}

/** For a request that is about to be sent. */
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
