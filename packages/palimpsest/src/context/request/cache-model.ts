import type { CachedPrefixes } from "../../cache/cached-prefixes.ts";
import { ClearPlanner } from "../../cache/clear-planner.ts";
import type { Inventory } from "../../cache/inventory.ts";
import { type Lifetime, millisByLifetime } from "../../cache/lifetime.ts";
import { needChance } from "../../cache/need-chance.ts";
import {
  type BreakpointPlanInput,
  BreakpointPlanner,
  type PlannedBreakpoints,
} from "../../cache/breakpoint-planner.ts";
import type { WrittenPlaces } from "../../cache/written-places.ts";
import type { Policy } from "../../layers/policy.ts";
import { KnownServer } from "../../layers/server/known-server.ts";
import type { Block } from "../../schema/block.ts";
import { type EntryId, type MessageId, type Millis, millis } from "../../schema/brand.ts";
import { changesView } from "../../schema/edit-kinds.ts";
import type { AssistantEntry, Entry } from "../../schema/entry.ts";
import { requestTokens } from "../../schema/usage.ts";
import { countTokensBefore } from "../../transcript/make-receipt.ts";
import type { Fold } from "../../transcript/fold.ts";
import { findUndoneEdits } from "../../transcript/plan-undo.ts";
import { rentRoundsMax } from "../limits.ts";
import { EditApprovals } from "./edit-approvals.ts";
import { ViewMemory } from "./view-memory.ts";

interface CacheBreakpointInput extends Omit<BreakpointPlanInput, "inventory" | "marks"> {
  readonly policy: Pick<Policy, "marks">;
}

/** For a replay, which differs from a paid session in these points. */
interface CacheModelOptions {
  /** `fixed`: every request writes for the given lifetime, even if another one would be cheaper. */
  readonly lifetimes?: "chosen" | "fixed";
  /** By default as it was measured. */
  readonly needChance?: typeof needChance;
  /** The inventory's count; by default an estimate. */
  readonly count?: (block: Block) => number;
}

interface CacheView {
  readonly inventory: Inventory;
  readonly fold: Fold;
}

export interface CacheFollowInput extends CacheView {
  /** What the last request showed. */
  readonly written: Pick<WrittenPlaces, "sharedUpTo">;
}

/**
 * Models what the provider's cache holds of one conversation, and what clearing has done to it so far. A resumed session
 * begins with what its log tells: when the newest reply came, and what was cleared.
 */
export class CacheModel {
  /** Remembers between requests that no clear can pay off. */
  readonly planner = new ClearPlanner();
  readonly server = new KnownServer();
  readonly approvals = new EditApprovals();
  /** Remembers between requests what the view holds. */
  readonly view: ViewMemory;
  /** How likely a result is still to be needed. */
  readonly needChance: typeof needChance;
  readonly #marks: BreakpointPlanner;
  readonly #lifetimes: "chosen" | "fixed";
  #followed: { readonly inventory: Inventory; readonly tellings: number } | undefined;
  #clearedAtRound: number | undefined;
  #clearedTokens = 0;
  #requestTokens: number[] = [];
  #repliedAt: Millis | undefined;
  #headroom: "some" | "none" = "some";

  constructor(lifetime: Lifetime, options: CacheModelOptions = {}) {
    this.#marks = new BreakpointPlanner(lifetime);
    this.view = new ViewMemory(options.count);
    this.needChance = options.needChance ?? needChance;
    this.#lifetimes = options.lifetimes ?? "chosen";
  }

  get prefixes(): CachedPrefixes {
    return this.#marks.prefixes;
  }

  /** The lifetime whose prices plans use. */
  get lifetime(): Lifetime {
    return this.#marks.lifetime;
  }

  /**
   * The request of the newest reply wrote one prefix: everything that it showed. So did the newest request that wrote for
   * an hour. The clock decides whether they are still alive. Replies in another tool's log are not in our cache, and
   * prefixes from before the last edit of the view are ignored.
   */
  resume(view: CacheView): void {
    const { fold } = view;
    const lastEdit = fold.path.logged.findLastIndex(({ entry }) => entry.kind === "edit" && changesView(entry.edit));
    const ours = fold.path.logged.slice(lastEdit + 1).filter(({ start }) => start >= fold.foreignUntil);
    const replies = ours.flatMap(({ entry }) => (entry.kind === "assistant" && !entry.synthetic ? [entry] : []));
    const newestHour = replies.findLast(({ usage }) => (usage?.cacheWrite1h ?? 0) > 0);
    const newest = replies.at(-1);
    if (newestHour !== undefined) this.#addPrefix(view, { reply: newestHour, lifetime: "1h" });
    if (newest !== undefined && !isSameReply(newest, newestHour))
      this.#addPrefix(view, { reply: newest, lifetime: this.lifetime });
  }

  #addPrefix(
    { fold, inventory: { count } }: CacheView,
    { reply, lifetime }: { readonly reply: AssistantEntry; readonly lifetime: Lifetime },
  ): void {
    const at = entryTime(reply);
    const first = fold.projection.items.find(({ messageId, entry }) => isSameReply(reply, { messageId, id: entry }));
    if (at === undefined || first === undefined) return;
    const upToTokens = countTokensBefore({ shown: fold.shown(), count }, first.entry);
    this.prefixes.sent({ at, written: [{ upToTokens, lifetime }], refreshed: [] });
  }

  /**
   * Must be called before plans are made. A boundary, an undo, a change of branch or another edit that removes entries
   * rebuilds the view. The next request then reads from the cache as far as the view still begins like the last request.
   */
  follow({ inventory, fold, written }: CacheFollowInput): void {
    const { tellings } = inventory;
    if (this.#followed?.inventory === inventory && this.#followed.tellings === tellings) return;
    const { entries } = fold.path;
    if (this.#followed === undefined) this.server.idledFor(largestGap(entries));
    else this.#marks.cut(countSharedTokens({ inventory, fold, written }));
    this.#followed = { inventory, tellings };
    // A path that begins at a boundary may have no reply yet: then the newest one is from before the boundary.
    this.#repliedAt = newestReplyAt(entries) ?? this.#repliedAt;
    const undone = findUndoneEdits(entries);
    const { tokens, rounds } = sumCleared(entries, undone);
    this.#clearedTokens = tokens;
    this.#clearedAtRound = rounds === undefined ? undefined : inventory.round - rounds;
    this.#requestTokens = listRequestTokens(entries, { undone, lifetime: this.lifetime });
  }

  /**
   * The size of each request since the last boundary in force, or since the cache was last cold, oldest first. Rent was
   * paid on what they held beyond a summary. What was paid before a break does not say how long the session goes on after
   * it.
   */
  get requestTokens(): readonly number[] {
    return this.#requestTokens;
  }

  /** By how much requests grew on average, those after an edit left out. Undefined if none did. */
  get growthTokens(): number | undefined {
    let growth = 0;
    let rounds = 0;
    this.#requestTokens.forEach((tokens, at) => {
      const grown = tokens - (this.#requestTokens[at - 1] ?? Infinity);
      if (grown <= 0) return;
      growth += grown;
      rounds += 1;
    });
    return rounds === 0 ? undefined : growth / rounds;
  }

  /** Tokens that were cleared: without clearing, requests would be larger by this. */
  get clearedTokens(): number {
    return this.#clearedTokens;
  }

  roundsSinceClear({ round }: Inventory): number | undefined {
    return this.#clearedAtRound === undefined ? undefined : round - this.#clearedAtRound;
  }

  /** Records a clear that changed the view after `offset` tokens. */
  cut({
    offset,
    savedTokens,
    round,
  }: {
    readonly offset: number;
    readonly savedTokens: number;
    readonly round: number;
  }): void {
    this.#marks.cut(offset);
    this.#clearedTokens += savedTokens;
    this.#clearedAtRound = round;
  }

  /** When the newest reply was complete. */
  get repliedAt(): Millis | undefined {
    return this.#repliedAt;
  }

  replied(at: Millis): void {
    this.#repliedAt = at;
  }

  noteHeadroom(): void {
    this.#headroom = "some";
  }

  /** Records that no clear brings the context below its limit. `news`: it had headroom until now. */
  noteNoHeadroom(): "news" | "known" {
    const before = this.#headroom;
    this.#headroom = "none";
    return before === "some" ? "news" : "known";
  }

  marks(inventory: Inventory, { policy, rates, ...input }: CacheBreakpointInput): PlannedBreakpoints {
    const choiceRates = this.#lifetimes === "chosen" ? rates : undefined;
    return this.#marks.plan({ inventory, marks: policy.marks, rates: choiceRates, ...input });
  }

  /** Called when a reply began: the request's breakpoints can be read now, and live from when it was sent. */
  began(marks: PlannedBreakpoints, { at, tokens }: StartedRequest): void {
    if (this.prefixes.isCold(at)) this.#requestTokens = [];
    this.#marks.sent(marks, at);
    if (this.#requestTokens.push(tokens) > rentRoundsMax) this.#requestTokens.shift();
  }
}

interface StartedRequest {
  /** When it was sent. */
  readonly at: Millis;
  /** Size of the request, including tools and system prompt. */
  readonly tokens: number;
}

interface PartOfReply {
  readonly messageId: MessageId | undefined;
  readonly id: EntryId | undefined;
}

/** A reply may have many entries. */
const isSameReply = (one: PartOfReply, other: PartOfReply | undefined): boolean =>
  other !== undefined && (one.messageId ?? one.id) === (other.messageId ?? other.id);

/** The tokens at the beginning of the view that the last request showed too. */
function countSharedTokens({ inventory: { count }, fold, written }: CacheFollowInput): number {
  const next = fold.next();
  const messages = next.kind === "sendable" ? next.messages : fold.messages;
  const { message, at } = written.sharedUpTo(messages);
  const shared = [
    ...messages.slice(0, message).flatMap(({ content }) => content),
    ...(messages[message]?.content.slice(0, at) ?? []),
  ];
  return shared.reduce((sum, block) => sum + count(block), 0);
}

function entryTime({ timestamp }: Entry): Millis | undefined {
  const at = Date.parse(timestamp ?? "");
  return Number.isNaN(at) ? undefined : millis(at);
}

const isReply = (entry: Entry): boolean => entry.kind === "assistant" && !entry.synthetic;

/** The longest time between two replies since the last boundary: the longest time that the session was idle. */
function largestGap(path: readonly Entry[]): Millis {
  const from = path.findLastIndex((entry) => entry.kind === "edit" && entry.edit.type === "boundary");
  const times = path.slice(from + 1).flatMap((entry) => (isReply(entry) ? (entryTime(entry) ?? []) : []));
  return millis(Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time))));
}

function newestReplyAt(path: readonly Entry[]): Millis | undefined {
  const newest = path.findLast(isReply);
  return newest === undefined ? undefined : entryTime(newest);
}

interface ClearedTotals {
  readonly tokens: number;
  /** Replies since the last clear; undefined if there was none. */
  readonly rounds: number | undefined;
}

/** Counts only clears since the last boundary: what was cleared before it is summarised. */
function sumCleared(path: readonly Entry[], undone: ReadonlySet<EntryId>): ClearedTotals {
  const replies = new Set<string>();
  let tokens = 0;
  let rounds: number | undefined;
  for (let at = path.length - 1; at >= 0; at -= 1) {
    const entry = path[at];
    if (entry === undefined) continue;
    if (entry.kind === "assistant" && !entry.synthetic) replies.add(entry.messageId ?? entry.id ?? "");
    if (entry.kind !== "edit" || undone.has(entry.id)) continue;
    if (entry.edit.type === "boundary") break;
    if (entry.edit.type !== "clear") continue;
    tokens += entry.edit.tokensSaved ?? 0;
    rounds ??= replies.size;
  }
  return { tokens, rounds };
}

/**
 * The provider's counts since the last boundary in force, or since a pause longer than the lifetime; requests that it did
 * not count are missing.
 */
function listRequestTokens(
  path: readonly Entry[],
  { undone, lifetime }: { readonly undone: ReadonlySet<EntryId>; readonly lifetime: Lifetime },
): number[] {
  const isInForce = (entry: Entry): boolean =>
    entry.kind === "edit" && entry.edit.type === "boundary" && !undone.has(entry.id);
  const tokensByReply = new Map<string, number>();
  let lastAt: Millis | undefined;
  for (const entry of path.slice(path.findLastIndex(isInForce) + 1)) {
    if (entry.kind !== "assistant" || entry.synthetic || entry.usage === undefined) continue;
    const at = entryTime(entry);
    if (at !== undefined && lastAt !== undefined && at - lastAt >= millisByLifetime[lifetime]) tokensByReply.clear();
    lastAt = at ?? lastAt;
    tokensByReply.set(entry.messageId ?? entry.id ?? "", requestTokens(entry.usage));
  }
  return [...tokensByReply.values()].slice(-rentRoundsMax);
}
