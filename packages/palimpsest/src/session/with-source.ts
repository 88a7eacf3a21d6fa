import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import type { SessionId } from "../schema/brand.ts";

/** Opens a transcript, reads from it and closes it. Undefined if there is no such transcript. */
export async function withSource<Result>(
  { transcripts }: TranscriptsDep,
  id: SessionId,
  read: (source: ByteSource) => Promise<Result>,
): Promise<Result | undefined> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    return await read(source);
  } finally {
    await source.close();
  }
}
