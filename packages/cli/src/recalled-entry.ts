import { saidIn } from "palimpsest/internal/recall/said";
import { readLines } from "palimpsest/internal/transcript/lines";

export interface RecalledEntry {
  /** Whole, however little of it was given. */
  readonly id: string | undefined;
  /** What was said in it, as hits quote it; undefined where that is nothing. */
  readonly text: string | undefined;
}

/** What a person wants of an entry: `expand` has its line as it stands in the log. */
export function recalledEntry(bytes: Uint8Array): RecalledEntry {
  const entry = readLines({ bytes, start: 0 }).logged[0]?.entry;
  if (entry === undefined) return { id: undefined, text: undefined };
  const texts = saidIn(entry).map(({ text }) => text);
  return { id: entry.id, text: texts.length === 0 ? undefined : texts.join("\n") };
}
