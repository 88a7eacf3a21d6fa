import { ratesOf } from "../cache/rates.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { EntryId } from "../schema/brand.ts";
import type { RecordedReceipt } from "../schema/receipt.ts";
import { estimateBlock } from "../tokens/estimate.ts";
import { findModel } from "../tokens/registry.ts";
import type { Fold } from "../transcript/fold.ts";
import { makeReceipt } from "../transcript/receipt.ts";
import { openCountedAt } from "./counted.ts";
import { branchReceiptsMax } from "./limits.ts";
import type { OpenOptions } from "./open.ts";
import type { RecordedEdit } from "./past-receipts.ts";

export interface BranchedLog extends Pick<OpenOptions, "source" | "origin"> {
  readonly fold: Fold;
  readonly edits: readonly RecordedEdit[];
}

/**
 * A branch has no receipt in its line: which view it leaves and which it begins with is known from the log, by reading
 * it up to the leaf that was left and up to the branch. Costs two readings of the log for each branch, so only the newest
 * branches get one.
 */
export async function withBranchReceipts(deps: BlobsDep, log: BranchedLog): Promise<readonly RecordedEdit[]> {
  const branches = log.edits.filter(({ kind, receipt }) => kind === "branch" && receipt === undefined);
  const newest = new Set(branches.slice(-branchReceiptsMax).map(({ id }) => id));
  const edits: RecordedEdit[] = [];
  for (const edit of log.edits) {
    const receipt = newest.has(edit.id) ? await receiptOf(deps, log, edit.id) : undefined;
    edits.push(receipt === undefined ? edit : { ...edit, receipt });
  }
  return edits;
}

async function receiptOf(
  deps: BlobsDep,
  { fold, source, origin }: BranchedLog,
  branch: EntryId,
): Promise<RecordedReceipt | undefined> {
  const entry = fold.path.find(branch)?.entry;
  const left = entry?.kind === "edit" && entry.edit.type === "branch" ? entry.edit.from : undefined;
  if (left === undefined) return undefined;
  const before = await openCountedAt(deps, { source, origin, at: left });
  const after = await openCountedAt(deps, { source, origin, at: branch });
  if (before === undefined || after === undefined) return undefined;
  const { cause, lines, tokensBefore, tokensAfter, price } = makeReceipt({
    edits: [branch],
    cause: "branch",
    nature: "reduced",
    before: before.fold.shown(),
    after: after.fold.shown(),
    count: estimateBlock,
    rates: ratesOf(findModel(before.model ?? ""), "5m"),
  });
  const entries: Record<string, number> = {};
  for (const line of lines) entries[line.class] = (entries[line.class] ?? 0) + 1;
  return { cause, tokensBefore, tokensAfter, price, entries };
}
