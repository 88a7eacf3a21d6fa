import type { ByteSource } from "../ports/transcripts.ts";
import { readLines } from "../transcript/lines.ts";
import { systemPromptOf } from "../transcript/system-prompt.ts";
import { promptHeadBytes } from "./limits.ts";
import type { OpenedLog } from "./open.ts";

/**
 * The system prompt that a log records for its path. A log that was opened at a boundary has not been read where it
 * began; that is where other tools write it, so there is one more look, at the head alone.
 */
export async function recordedPrompt(
  source: ByteSource,
  { fold, read }: Pick<OpenedLog, "fold" | "read">,
): Promise<string | undefined> {
  const prompt = systemPromptOf(fold.path);
  if (prompt !== undefined || read.from === "beginning" || fold.foreignUntil === 0) return prompt;
  const bytes = await source.read({ start: 0, end: Math.min(promptHeadBytes, fold.foreignUntil, source.size) });
  const recorded = readLines({ bytes, start: 0, last: true }).logged.flatMap(({ entry }) =>
    entry.kind === "other" && entry.sidechain === fold.path.leaf?.sidechain ? (entry.systemPrompt ?? []) : [],
  );
  return recorded.at(-1);
}
