import { z } from "zod";
import { type BlobId, blobId, type EntryId, entryId, isBlobId } from "../../schema/brand.ts";
import type { Json } from "../../schema/json.ts";
import type { Draft } from "../../transcript/draft.ts";

/**
 * Stored as a setting of the session: it survives boundaries like the others, and a path that was rewound has the notes
 * of its own past. The blob is the text at that time. It is what counts for a compaction, whatever the file says while
 * the next update changes it.
 */
const settingName = "notes.covers";

export interface NotesCoverage {
  /** The newest entry that the notes cover. */
  readonly entry: EntryId;
  readonly blob: BlobId;
  /** Size of the context when they were taken; growth counts from here. */
  readonly contextTokens: number;
}

export const coverageDraft = ({ entry, blob, contextTokens }: NotesCoverage): Draft => ({
  type: "setting",
  name: settingName,
  value: { entry, blob, contextTokens },
});

/** `settings` are those of the path, as its projection holds them. */
export function parseCoverage(settings: ReadonlyMap<string, Json>): NotesCoverage | undefined {
  const parsed = coverageShape.safeParse(settings.get(settingName));
  return parsed.success ? parsed.data : undefined;
}

const coverageShape = z.object({
  entry: z.string().transform(entryId),
  blob: z.string().refine(isBlobId).transform(blobId),
  contextTokens: z.number().nonnegative(),
});
