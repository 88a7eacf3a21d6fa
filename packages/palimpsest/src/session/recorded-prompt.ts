import type { ByteSource } from "../ports/transcripts.ts";
import type { Entry } from "../schema/entry.ts";
import { readLines } from "../transcript/lines.ts";
import { systemPromptOf } from "../transcript/system-prompt.ts";
import { promptHeadBytes } from "./limits.ts";
import type { OpenedLog } from "./open.ts";

/**
 * The system prompt that a log records for its path: of a log that was read whole the newest that applies. Of one that
 * was opened at a boundary it is the newest in what was read; where that holds none, there is one more look, at the
 * head alone, since that is where other tools write it. What lies between the two stays unread, so a prompt that
 * changed there is not seen.
 */
export async function recordedPrompt(
  source: ByteSource,
  { fold, scanned }: Pick<OpenedLog, "fold" | "scanned">,
): Promise<string | undefined> {
  if (scanned === undefined) return systemPromptOf(fold.path);
  if (scanned.prompt !== undefined || fold.foreignUntil === 0) return scanned.prompt;
  const bytes = await source.read({ start: 0, end: Math.min(promptHeadBytes, fold.foreignUntil, scanned.start) });
  const { logged } = readLines({ bytes, start: 0, last: true });
  const line = logged.map(({ entry }) => entry).filter((entry) => entry.sidechain === fold.path.leaf?.sidechain);
  return openingPrompt(line);
}

/** What stands before the first message applies to every branch; of several prompts only the whole path could tell which. */
function openingPrompt(head: readonly Entry[]): string | undefined {
  const firstSaid = head.findIndex(({ kind }) => kind === "user" || kind === "assistant");
  const opening = new Set(promptsIn(firstSaid === -1 ? head : head.slice(0, firstSaid)));
  const [prompt, ...others] = new Set(promptsIn(head));
  return prompt !== undefined && others.length === 0 && opening.has(prompt) ? prompt : undefined;
}

const promptsIn = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) => (entry.kind === "other" ? (entry.systemPrompt ?? []) : []));
