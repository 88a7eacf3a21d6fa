import type { CachedPrefixes } from "../../cache/cached-prefixes.ts";
import { ClearPlanner } from "../../cache/clear-planner.ts";
import type { Inventory } from "../../cache/inventory.ts";
import type { Lifetime } from "../../cache/lifetime.ts";
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
import { ViewMemory } from "./view-memory.ts";

interface CacheBreakpointInput extends Omit<BreakpointPlanInput, "inventory" | "marks"> {
  readonly policy: Pick<Policy, "marks">;
}

/** What differs where nobody pays: in a replay. */
interface CacheModelOptions {
  /** `fixed`: every request writes for the lifetime that was given, whatever would be cheaper. */
  readonly lifetimes?: "chosen" | "fixed";
  /** Absent: as it was measured. */
  readonly needChance?: typeof needChance;
  /** The inventory's; an estimate where it is absent. */
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
 * What the provider's cache holds of one conversation, by our own reckoning, and what clearing has done to it so far. A
 * session that is opened again begins with what its log tells: when the newest reply came, and what was cleared.
 */
export class CacheModel {
  /** Remembers between requests when no clearing can pay. */
  readonly planner = new ClearPlanner();
  readonly server = new KnownServer();
  /** Remembers between requests what the view holds. */
  readonly view: ViewMemory;
  /** How likely a result is still to be needed. */
  readonly needChance: typeof needChance;
  readonly #marks: BreakpointPlanner;
  readonly #lifetimes: "chosen" | "fixed";
  #told: { readonly inventory: Inventory; readonly tellings: number } | undefined;
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

  /** With whose prices plans reckon. */
  get lifetime(): Lifetime {
    return this.#marks.lifetime;
  }

  /**
   * The newest reply's request left one prefix: everything that it showed. So did the newest that wrote for an hour, for
   * as long. They live or not, as the clock will say. What another tool was answered is in no cache of ours, and what was
   * written before the view was edited last is not reckoned with.
   */
  resume(view: CacheView): void {
    const { fold } = view;
    const changed = fold.path.logged.findLastIndex(({ entry }) => entry.kind === "edit" && changesView(entry.edit));
    const ours = fold.path.logged.slice(changed + 1).filter(({ start }) => start >= fold.foreignUntil);
    const replies = ours.flatMap(({ entry }) => (entry.kind === "assistant" && !entry.synthetic ? [entry] : []));
    const hour = replies.findLast(({ usage }) => (usage?.cacheWrite1h ?? 0) > 0);
    const newest = replies.at(-1);
    if (hour !== undefined) this.#left(view, { reply: hour, lifetime: "1h" });
    if (newest !== undefined && !isSameReply(newest, hour))
      this.#left(view, { reply: newest, lifetime: this.lifetime });
  }

  #left(
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
   * Before plans are made. A boundary, an undo or another edit that takes entries away tells the view anew, as a change of branch does: then what the last request
   * showed is read as far as the view still begins with it.
   */
  follow({ inventory, fold, written }: CacheFollowInput): void {
    const { tellings } = inventory;
    if (this.#told?.inventory === inventory && this.#told.tellings === tellings) return;
    const { entries } = fold.path;
    if (this.#told === undefined) this.server.idledFor(largestGap(entries));
    else this.#marks.cut(countSharedTokens({ inventory, fold, written }));
    this.#told = { inventory, tellings };
    // A path that begins at a boundary may hold no reply yet: then the newest is the one that came before.
    this.#repliedAt = newestReplyAt(entries) ?? this.#repliedAt;
    const undone = findUndoneEdits(entries);
    const { tokens, rounds } = sumCleared(entries, undone);
    this.#clearedTokens = tokens;
    this.#clearedAtRound = rounds === undefined ? undefined : inventory.round - rounds;
    this.#requestTokens = listRequestTokens(entries, undone);
  }

  /** Of each request since the last boundary in force, the oldest first: on what they held beyond a summary, rent was paid. */
  get requestTokens(): readonly number[] {
    return this.#requestTokens;
  }

  /** Of everything that was cleared: requests would be larger by this. */
  get clearedTokens(): number {
    return this.#clearedTokens;
  }

  roundsSinceClear({ round }: Inventory): number | undefined {
    return this.#clearedAtRound === undefined ? undefined : round - this.#clearedAtRound;
  }

  /** An edit changed what stands behind so many tokens. */
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

  /** When the newest reply was whole. */
  get repliedAt(): Millis | undefined {
    return this.#repliedAt;
  }

  replied(at: Millis): void {
    this.#repliedAt = at;
  }

  noteHeadroom(): void {
    this.#headroom = "some";
  }

  /** Nothing that may be cleared brings the context below its limit. `news`: it had headroom until now. */
  noteNoHeadroom(): "news" | "known" {
    const before = this.#headroom;
    this.#headroom = "none";
    return before === "some" ? "news" : "known";
  }

  marks(inventory: Inventory, { policy, rates, ...asking }: CacheBreakpointInput): PlannedBreakpoints {
    const choice = this.#lifetimes === "chosen" ? rates : undefined;
    return this.#marks.plan({ inventory, marks: policy.marks, rates: choice, ...asking });
  }

  /** Its reply began: what it was marked at can be read, and lives from when it was sent. */
  began(marks: PlannedBreakpoints, { at, tokens }: StartedRequest): void {
    this.#marks.sent(marks, at);
    if (this.#requestTokens.push(tokens) > rentRoundsMax) this.#requestTokens.shift();
  }
}

interface StartedRequest {
  /** When it was sent. */
  readonly at: Millis;
  /** Of all of it, tools and system prompt included. */
  readonly tokens: number;
}

interface PartOfReply {
  readonly messageId: MessageId | undefined;
  readonly id: EntryId | undefined;
}

/** A reply may have many entries. */
const isSameReply = (one: PartOfReply, other: PartOfReply | undefined): boolean =>
  other !== undefined && (one.messageId ?? one.id) === (other.messageId ?? other.id);

/** Up to where the view is what the last request showed. */
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

/** Between replies since the last boundary: for so long nobody worked on it. */
function largestGap(path: readonly Entry[]): Millis {
  const from = path.findLastIndex((entry) => entry.kind === "edit" && entry.edit.type === "boundary");
  const times = path.slice(from + 1).flatMap((entry) => (isReply(entry) ? (entryTime(entry) ?? []) : []));
  return millis(Math.max(0, ...times.slice(1).map((time, at) => time - (times[at] ?? time))));
}

/** When the newest reply came. */
function newestReplyAt(path: readonly Entry[]): Millis | undefined {
  const newest = path.findLast(isReply);
  return newest === undefined ? undefined : entryTime(newest);
}

interface ClearedTotals {
  readonly tokens: number;
  /** Replies since the last clearing; undefined where there was none. */
  readonly rounds: number | undefined;
}

/** Since the last boundary: what was cleared before it is summarised. */
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

/** What the provider counted of them; where it told nothing nobody knows. */
function listRequestTokens(path: readonly Entry[], undone: ReadonlySet<EntryId>): number[] {
  const isInForce = (entry: Entry): boolean =>
    entry.kind === "edit" && entry.edit.type === "boundary" && !undone.has(entry.id);
  const tokensByReply = new Map<string, number>();
  for (const entry of path.slice(path.findLastIndex(isInForce) + 1)) {
    if (entry.kind !== "assistant" || entry.synthetic || entry.usage === undefined) continue;
    tokensByReply.set(entry.messageId ?? entry.id ?? "", requestTokens(entry.usage));
  }
  return [...tokensByReply.values()].slice(-rentRoundsMax);
}
