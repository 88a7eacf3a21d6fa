import type { KnownItem, KnownItems } from "./known-items.ts";
import { roundItemsMin } from "./limits.ts";
import { isAnswerDigest, type SyncItem } from "./message-reader.ts";

/** How a list differs from the conversation. Its items from `from` on are new. */
export type SyncPlan =
  /** It continues the conversation. */
  { readonly kind: "onward"; readonly from: number; readonly left: readonly [] } | BranchPlan | TrimPlan;

/** It continues behind an earlier item, or behind one on another branch. */
export interface BranchPlan {
  readonly kind: "branched";
  /** The items before the branch; the conversation continues behind the last of them. */
  readonly stay: readonly KnownItem[];
  readonly at: KnownItem;
  readonly from: number;
  readonly left: readonly KnownItem[];
}

/**
 * Something before the end is missing, or new texts (`lead`) are in its place: a window that slides, or the caller's own
 * compaction. What follows is known.
 */
export interface TrimPlan {
  readonly kind: "trimmed";
  readonly stay: readonly KnownItem[];
  readonly lead: readonly SyncItem[];
  readonly kept: readonly KnownItem[];
  readonly from: number;
  readonly left: readonly KnownItem[];
}

interface PlanInput {
  readonly known: Pick<KnownItems, "tip" | "line" | "root">;
  /** The items with which the list begins, as far as they are known. */
  readonly matched: readonly KnownItem[];
  readonly items: readonly SyncItem[];
  /** Whether the view shows an item: what a boundary covers can't be kept. */
  readonly isShown: (item: KnownItem) => boolean;
}

export function planSync(input: PlanInput): SyncPlan {
  const { known, matched } = input;
  if ((matched.at(-1) ?? known.root) === known.tip) return { kind: "onward", from: matched.length, left: [] };
  return planTrim(input) ?? planBranch(input);
}

function planTrim({ known: { line }, matched, items, isShown }: PlanInput): TrimPlan | undefined {
  const count = matched.length;
  const behind = line.slice(count);
  const last = behind.at(-1);
  if (last === undefined || (count > 0 && matched.at(-1) !== line[count - 1])) return undefined;
  const end = items.findLastIndex(({ digest }, at) => at >= count && digest === last.digest);
  if (end === -1) return undefined;
  let overlap = 1;
  while (
    end - overlap >= count &&
    overlap < behind.length &&
    items[end - overlap]?.digest === behind[behind.length - 1 - overlap]?.digest
  )
    overlap += 1;
  const lead = items.slice(count, end - overlap + 1);
  const kept = behind.slice(behind.length - overlap);
  const left = behind.slice(0, behind.length - overlap);
  const isSummary = count === 0 && lead.every(isText) && left.length >= lead.length + roundItemsMin;
  // A summary can stand only at the very beginning, and an entry can leave only as a whole.
  const isPossible = lead.length === 0 ? left.length > 0 : isSummary && kept.every(isShown);
  const isWhole = left.at(-1)?.entry !== kept[0]?.entry && (count === 0 || left[0]?.entry !== matched.at(-1)?.entry);
  return isPossible && isWhole ? { kind: "trimmed", stay: matched, lead, kept, from: end + 1, left } : undefined;
}

const isText = ({ role, block }: SyncItem): boolean => role !== "assistant" && block.type === "text";

/**
 * A branch begins where a reply and the results of its calls end: parts of a reply belong together, and so do a call and
 * its result, on whatever branch they are. What the list shares of them is said again.
 */
function planBranch({ known: { line, root }, matched }: PlanInput): BranchPlan {
  for (let from = matched.length; ; from -= 1) {
    const at = matched[from - 1] ?? root;
    if (from > 0 && (at.behind === undefined || hasAnswer(at))) continue;
    const stay = matched.slice(0, from);
    const stays = new Set(stay);
    return { kind: "branched", stay, at, from, left: line.filter((item) => !stays.has(item)) };
  }
}

const hasAnswer = ({ next }: KnownItem): boolean => next.values().some(({ digest }) => isAnswerDigest(digest));
