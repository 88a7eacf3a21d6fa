import { cleanBorders } from "../../layers/2-clear/round.ts";
import type { Block } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { CompactionRange } from "../../schema/compaction-cause.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { MessagesReach } from "../../transcript/first-messages.ts";
import type { Item } from "../../transcript/item.ts";
import { lacksFirstUser } from "../../transcript/repair.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";

/** Which items a compaction covers, what stays of the others, and how much of the next request shows what is to be summed up. */
export interface Scope extends MessagesReach {
  readonly covered: readonly Item[];
  /** Behind the summary: what follows the part, or a message that waits for its answer. */
  readonly kept: readonly Item[];
  /** Of `from`: the first item that is covered. */
  readonly pivot?: EntryId;
}

type ScopeOutcome =
  | { readonly kind: "scope"; readonly scope: Scope }
  | { readonly kind: "nothing" }
  /** `entry` is no message of the view. */
  | { readonly kind: "unknown-entry"; readonly entry: EntryId };

export interface ScopeInput {
  readonly part: CompactionRange;
  /** A message that waits for its answer stays as it is up to this size. */
  readonly waitingTokensMax: number;
  /** By which that size is known; an estimate where it is absent. */
  readonly count?: (block: Block) => number;
  /** The newest entry when the summary was made: what came later stays. Absent: all of it was there. */
  readonly until?: EntryId | null;
  /** Everything up to this entry and nothing behind it, whatever the part says: where notes are the summary. */
  readonly coversUntil?: EntryId | undefined;
}

/**
 * What a compaction of this part covers. Pivots snap back to the border between rounds at or before them, so that no
 * call is parted from its result and no reply is split.
 */
export function computeScope(fold: Fold, { until, coversUntil, ...input }: ScopeInput): ScopeOutcome {
  const { items } = fold.projection;
  if (coversUntil !== undefined) return scopeUntil(items, coversUntil);
  if (until === undefined) return scopeWithin(items, fold, input);
  const untilAt = fold.path.findLastIndex(({ entry }) => entry.id === until);
  if (untilAt === -1) return { kind: "nothing" };
  const then = items.filter(({ at }) => at <= untilAt);
  const scoped = scopeWithin(then, fold, input);
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
  const named = items.findIndex(({ entry }) => entry === part.entry);
  if (named === -1) return { kind: "unknown-entry", entry: part.entry };
  const messageByEntry = indexMessages(fold);
  const at = findBorder(items, { named, messageByEntry });
  const pivot = items[at]?.entry;
  if (pivot === undefined) return { kind: "nothing" };
  if (part.kind === "from") {
    if (at === 0) return coverAll(items, waiting);
    const all = coverAll(items.slice(at), waiting);
    return all.kind === "scope" ? { kind: "scope", scope: { ...all.scope, pivot } } : all;
  }
  if (!items.slice(0, at).some(isSpoken)) return { kind: "nothing" };
  const scope = { covered: items.slice(0, at), kept: items.slice(at), messagesMax: messageByEntry.get(pivot) ?? 0 };
  return { kind: "scope", scope };
}

/** What a compaction of everything would keep, at the cost of what came behind the newest reply. */
export function findWaitingItems(fold: Fold, waiting: Waiting): readonly Item[] {
  const { items } = fold.projection;
  const from = findKeptStart(items, waiting);
  if (from === items.length) return [];
  const spokenAt = items.findIndex(isSpoken);
  return spokenAt !== -1 && spokenAt < from ? items.slice(from) : [];
}

type Waiting = Pick<ScopeInput, "waitingTokensMax" | "count">;

function coverAll(items: readonly Item[], waiting: Waiting): ScopeOutcome {
  const from = findKeptStart(items, waiting);
  const scope = { covered: items.slice(0, from), kept: items.slice(from) };
  return scope.covered.some(isSpoken) ? { kind: "scope", scope } : { kind: "nothing" };
}

function findKeptStart(items: readonly Item[], { waitingTokensMax, count = estimateBlock }: Waiting): number {
  const from = findWaitingStart(items);
  const waiting = items.slice(from).flatMap(({ blocks }) => blocks);
  return waiting.reduce((sum, block) => sum + count(block), 0) <= waitingTokensMax ? from : items.length;
}

/** Where the messages begin that nothing was done about yet: behind the newest reply, result or summary, from a person's words on. */
function findWaitingStart(items: readonly Item[]): number {
  const done = items.findLastIndex(
    ({ role, blocks, summary }) =>
      role === "assistant" || summary === true || blocks.some(({ type }) => type === "tool_result"),
  );
  const first = items.slice(done + 1).findIndex(({ said }) => said === true);
  return first === -1 ? items.length : done + 1 + first;
}

/** A summary is no conversation: without anything behind it there is nothing to compact. */
const isSpoken = ({ role, summary, attachment, blocks }: Item): boolean =>
  (role === "assistant" && blocks.length > 0) ||
  (summary === undefined && attachment === undefined && blocks.some(({ type }) => type === "text"));

function findBorder(
  items: readonly Item[],
  { named, messageByEntry }: { readonly named: number; readonly messageByEntry: ReadonlyMap<EntryId, number> },
): number {
  const borders = cleanBorders(items);
  for (let at = named; at > 0; at -= 1) {
    const here = items[at];
    const begins = here !== undefined && messageByEntry.has(here.entry);
    if (begins && borders[at] === true && !here.blocks.some(({ type }) => type === "tool_result")) return at;
  }
  return 0;
}

/** By the entry that it begins with: which message of the next request it is. */
function indexMessages(fold: Fold): ReadonlyMap<EntryId, number> {
  const { messages } = fold;
  const entryByFirst = new Map(
    [...fold.shown()].flatMap(([entry, [first]]) => (first === undefined ? [] : [[first, entry] as const])),
  );
  // A request that would begin with a reply has a line of ours in front.
  const before = lacksFirstUser(messages) ? 1 : 0;
  return new Map(
    messages.flatMap(({ content: [first] }, at) => {
      const entry = first === undefined ? undefined : entryByFirst.get(first);
      return entry === undefined ? [] : [[entry, before + at] as const];
    }),
  );
}
