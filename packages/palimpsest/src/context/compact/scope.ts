import { cleanBorders } from "../../layers/2-clear/round.ts";
import type { Block } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { CompactionRange } from "../../schema/compaction-cause.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { MessagesReach } from "../../transcript/first-messages.ts";
import type { Item } from "../../transcript/item.ts";
import { lacksFirstUser } from "../../transcript/repair.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";

/** Which items a compaction covers and keeps, and how much of the next request shows what is to be summarised. */
export interface Scope extends MessagesReach {
  readonly covered: readonly Item[];
  /** What stays after the summary: items after the part, or a message that waits for its answer. */
  readonly kept: readonly Item[];
  /** For `from`: the first item that is covered. */
  readonly pivot?: EntryId;
}

type ScopeOutcome =
  | { readonly kind: "scope"; readonly scope: Scope }
  | { readonly kind: "nothing" }
  /** `entry` is not a message of the view. */
  | { readonly kind: "unknown-entry"; readonly entry: EntryId };

export interface ScopeInput {
  readonly part: CompactionRange;
  /** A message that waits for its answer stays unchanged up to this size. */
  readonly waitingTokensMax: number;
  /** Counts that size; by default an estimate. */
  readonly count?: (block: Block) => number;
  /** The last entry when the summary was made: later entries stay. Absent if the summary is not made yet. */
  readonly until?: EntryId | null;
  /** If notes are the summary: covers exactly everything up to this entry, whatever the part says. */
  readonly coversUntil?: EntryId | undefined;
}

/**
 * Computes what a compaction of this part covers. Pivots snap back to the border between rounds at or before them, so that
 * no call is separated from its result and no reply is split.
 */
export function computeScope(fold: Fold, { until, coversUntil, ...input }: ScopeInput): ScopeOutcome {
  const { items } = fold.projection;
  if (coversUntil !== undefined) return scopeUntil(items, coversUntil);
  if (until === undefined) return scopeWithin(items, fold, input);
  const untilAt = fold.path.findLastIndex(({ entry }) => entry.id === until);
  if (untilAt === -1) return { kind: "nothing" };
  const earlier = items.filter(({ at }) => at <= untilAt);
  const scoped = scopeWithin(earlier, fold, input);
  if (scoped.kind !== "scope") return scoped;
  const { scope } = scoped;
  return { kind: "scope", scope: { ...scope, kept: [...scope.kept, ...items.filter(({ at }) => at > untilAt)] } };
}

function scopeUntil(items: readonly Item[], coversUntil: EntryId): ScopeOutcome {
  const end = items.findLastIndex(({ entry }) => entry === coversUntil) + 1;
  if (end === 0) return { kind: "nothing" };
  return { kind: "scope", scope: { covered: items.slice(0, end), kept: items.slice(end) } };
}

function scopeWithin(
  items: readonly Item[],
  fold: Fold,
  { part, ...waiting }: Omit<ScopeInput, "until">,
): ScopeOutcome {
  if (part.kind === "all") return coverAll(items, waiting);
  const namedAt = items.findIndex(({ entry }) => entry === part.entry);
  if (namedAt === -1) return { kind: "unknown-entry", entry: part.entry };
  const messageByEntry = indexMessages(fold);
  const at = findBorder(items, { namedAt, messageByEntry });
  const pivot = items[at]?.entry;
  if (pivot === undefined) return { kind: "nothing" };
  if (part.kind === "from") {
    if (at === 0) return coverAll(items, waiting);
    const all = coverAll(items.slice(at), waiting);
    return all.kind === "scope" ? { kind: "scope", scope: { ...all.scope, pivot } } : all;
  }
  if (!items.slice(0, at).some(isMessage)) return { kind: "nothing" };
  const scope = { covered: items.slice(0, at), kept: items.slice(at), messagesMax: messageByEntry.get(pivot) ?? 0 };
  return { kind: "scope", scope };
}

/** What a compaction of everything would keep. The cost is what follows the newest reply. */
export function findWaitingItems(fold: Fold, waiting: WaitingInput): readonly Item[] {
  const { items } = fold.projection;
  const from = findKeptStart(items, waiting);
  if (from === items.length) return [];
  const firstMessageAt = items.findIndex(isMessage);
  return firstMessageAt !== -1 && firstMessageAt < from ? items.slice(from) : [];
}

type WaitingInput = Pick<ScopeInput, "waitingTokensMax" | "count">;

function coverAll(items: readonly Item[], waiting: WaitingInput): ScopeOutcome {
  const from = findKeptStart(items, waiting);
  const scope = { covered: items.slice(0, from), kept: items.slice(from) };
  return scope.covered.some(isMessage) ? { kind: "scope", scope } : { kind: "nothing" };
}

function findKeptStart(items: readonly Item[], { waitingTokensMax, count = estimateBlock }: WaitingInput): number {
  const from = findWaitingStart(items);
  const waiting = items.slice(from).flatMap(({ blocks }) => blocks);
  return waiting.reduce((sum, block) => sum + count(block), 0) <= waitingTokensMax ? from : items.length;
}

/** Where the unanswered messages begin: after the newest reply, result or summary, at the first text of the user. */
function findWaitingStart(items: readonly Item[]): number {
  const done = items.findLastIndex(
    ({ role, blocks, summary }) =>
      role === "assistant" || summary === true || blocks.some(({ type }) => type === "tool_result"),
  );
  const first = items.slice(done + 1).findIndex(({ said }) => said === true);
  return first === -1 ? items.length : done + 1 + first;
}

/** A summary does not count: if nothing follows it, there is nothing to compact. */
const isMessage = ({ role, summary, attachment, blocks }: Item): boolean =>
  (role === "assistant" && blocks.length > 0) ||
  (summary === undefined && attachment === undefined && blocks.some(({ type }) => type === "text"));

function findBorder(
  items: readonly Item[],
  { namedAt, messageByEntry }: { readonly namedAt: number; readonly messageByEntry: ReadonlyMap<EntryId, number> },
): number {
  const borders = cleanBorders(items);
  for (let at = namedAt; at > 0; at -= 1) {
    const item = items[at];
    const beginsMessage = item !== undefined && messageByEntry.has(item.entry);
    if (beginsMessage && borders[at] === true && !item.blocks.some(({ type }) => type === "tool_result")) return at;
  }
  return 0;
}

/** The index of each message in the next request, by the entry that the message begins with. */
function indexMessages(fold: Fold): ReadonlyMap<EntryId, number> {
  const { messages } = fold;
  const entryByFirst = new Map(
    [...fold.shown()].flatMap(([entry, [first]]) => (first === undefined ? [] : [[first, entry] as const])),
  );
  // If a request would begin with a reply, a user message of ours is put in front.
  const before = lacksFirstUser(messages) ? 1 : 0;
  return new Map(
    messages.flatMap(({ content: [first] }, at) => {
      const entry = first === undefined ? undefined : entryByFirst.get(first);
      return entry === undefined ? [] : [[entry, before + at] as const];
    }),
  );
}
