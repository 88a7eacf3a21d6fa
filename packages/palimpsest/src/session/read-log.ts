import type { BlobsDep } from "../ports/blobs.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { EntryId, SessionId } from "../schema/brand.ts";
import type { TextCounter } from "../tokens/text-counter.ts";
import type { ReceiptInput } from "../transcript/make-receipt.ts";
import { type CountedLog, openCounted } from "./counted-log.ts";
import { withSource } from "./with-source.ts";

export interface ReadLogOptions {
  /** Tells whether a tool's results may ever be cleared. If it is absent, no clear is planned and no inventory is kept. */
  readonly isClearable?: (tool: string) => boolean;
  /** What clearing a result has to save at least. */
  readonly residentTokensMin?: number | undefined;
  /** Counts one block. If it is absent, the counter's belief or an unpadded estimate is used. */
  readonly count?: ReceiptInput["count"];
  /** The caller's tokenizer. */
  readonly counter?: TextCounter | undefined;
  /** First read from the end of a log; by default the limit in `limits.ts`. */
  readonly tailBytes?: number;
}

/** Reads, folds and counts one of our logs. `undone`: edits to treat as undone. Undefined if there is no such log. */
export async function readLog(
  deps: TranscriptsDep & BlobsDep & ReadLogOptions,
  id: SessionId,
  undone?: ReadonlySet<EntryId>,
): Promise<CountedLog | undefined> {
  const { tailBytes, isClearable, residentTokensMin, counter } = deps;
  return withSource(deps, id, (source) =>
    openCounted(deps, { source, origin: "ours", counter, undone, tailBytes, isClearable, residentTokensMin }),
  );
}
