import type { Message } from "../schema/block.ts";
import type { Millis, ToolUseId } from "../schema/brand.ts";
import { canBeMarked, type MessagePlace } from "./breakpoints.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import type { Inventory } from "./inventory.ts";
import { GapChance, type LifetimeInput, lifetimeNow } from "./lifetime-choice.ts";
import type { Lifetime } from "./lifetime.ts";
import type { MarksName } from "./marks.ts";

/** Where a request is marked, in the inventory's count: what it leaves in the cache once its reply begins. */
export interface RequestMarks {
  readonly lifetime: Lifetime;
  readonly frontier: MessagePlace | undefined;
  readonly upToTokens: readonly number[];
}

export interface Marking {
  readonly inventory: Pick<Inventory, "oldest" | "shownTokens" | "headTokens">;
  readonly messages: readonly Message[];
  readonly marks: MarksName;
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
export class PlannedMarks {
  readonly prefixes = new CachedPrefixes();
  /** Where nothing is chosen. Plans reckon with it too: a cut has much written again, and that is marked for no longer. */
  readonly lifetime: Lifetime;
  readonly #gaps = new GapChance();
  #sentAt: Millis | undefined;
  #oldest: FrontierOf | undefined;
  /** Where the last request ended: the next one reads up to there, and so keeps it alive. */
  #endTokens: number | undefined;

  constructor(lifetime: Lifetime) {
    this.lifetime = lifetime;
  }

  /** Of the next request. Changes nothing of what the cache is taken to hold. */
  plan(marking: Marking): RequestMarks {
    const { inventory, messages, marks } = marking;
    const { oldest, shownTokens, headTokens } = inventory;
    if (marks !== "planned") return { lifetime: this.lifetime, frontier: undefined, upToTokens: [shownTokens] };
    const frontier = oldest === undefined ? undefined : this.#frontier(messages, oldest.toolUse);
    const upToTokens = frontier === undefined ? [shownTokens] : [headTokens, shownTokens];
    return { lifetime: this.#choose(marking), frontier, upToTokens };
  }

  /** Its reply began: what it was marked at can be read, and lives from when it was sent. */
  sent({ lifetime, upToTokens }: RequestMarks, at: Millis): void {
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

  #choose({ inventory, at, fixedTokens, rates }: Marking): Lifetime {
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

interface FrontierOf {
  readonly toolUse: ToolUseId;
  readonly place: MessagePlace;
}

function placeBefore(messages: readonly Message[], toolUse: ToolUseId): MessagePlace | undefined {
  for (const [message, { content }] of messages.entries()) {
    const at = content.findIndex((block) => block.type === "tool_result" && block.tool_use_id === toolUse);
    if (at > 0) return markable(messages, { part: "messages", message, at: at - 1 });
    const before = messages[message - 1]?.content.length ?? 0;
    if (at === 0) return markable(messages, { part: "messages", message: message - 1, at: before - 1 });
  }
  return undefined;
}

function markable(messages: readonly Message[], place: MessagePlace): MessagePlace | undefined {
  const block = messages[place.message]?.content[place.at];
  return block !== undefined && canBeMarked(block) ? place : undefined;
}

function isBefore(messages: readonly Message[], { toolUse, place }: FrontierOf): boolean {
  const own = messages[place.message]?.content;
  const next =
    own?.[place.at + 1] ?? (place.at + 1 === own?.length ? messages[place.message + 1]?.content[0] : undefined);
  return next?.type === "tool_result" && next.tool_use_id === toolUse;
}
