import { onTestFinished } from "vitest";
import type { OpenForWritingOutcome, TranscriptWriter } from "../../packages/palimpsest/src/ports/transcripts.ts";

/** The writer of an opening that must succeed; closed at the end of the running test. */
export function openWriter(outcome: OpenForWritingOutcome): TranscriptWriter {
  if (outcome.kind !== "open") throw new Error(`not open: ${JSON.stringify(outcome)}`);
  onTestFinished(() => outcome.writer.close());
  return outcome.writer;
}
