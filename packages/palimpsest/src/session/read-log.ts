import type { BlobsDep } from "../ports/blobs.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { EntryId, SessionId } from "../schema/brand.ts";
import type { TextCounter } from "../tokens/text-counter.ts";
import type { ReceiptInput } from "../transcript/make-receipt.ts";
import { type CountedLog, openCounted } from "./counted-log.ts";

export interface ReadingDep {
  /** Whose results may ever be cleared. Where it is absent nobody plans to clear, and no inventory is kept. */
  readonly isClearable?: (tool: string) => boolean;
  /** Of one block; what the counter believes of it, or an unpadded estimate, if it is absent. */
  readonly count?: ReceiptInput["count"];
  /** A tokenizer of the caller's. */
  readonly counter?: TextCounter | undefined;
  /** First read from the end of a log; the limit in `limits.ts` where it is absent. */
  readonly tailBytes?: number;
}

/** A log of ours, folded and counted. `undone`: edits to treat as undone. Undefined where there is no such log. */
export async function readLog(
  deps: TranscriptsDep & BlobsDep & ReadingDep,
  id: SessionId,
  undone?: ReadonlySet<EntryId>,
): Promise<CountedLog | undefined> {
  const source = await deps.transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    const { tailBytes, isClearable, counter } = deps;
    return await openCounted(deps, {
      source,
      origin: "ours",
      counter,
      ...(undone === undefined ? {} : { undone }),
      ...(tailBytes === undefined ? {} : { tailBytes }),
      ...(isClearable === undefined ? {} : { isClearable }),
    });
  } finally {
    await source.close();
  }
}
