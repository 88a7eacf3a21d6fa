import { cleaned } from "./gate.ts";
import { withoutSummaryTags } from "./quote.ts";

/**
 * The agent's note to itself, to stand behind a summary: data, cleaned like one, because what it read may have asked for
 * it. In its own words else; blank where nothing is left.
 */
export function quotedNote(note: string, userMessages: readonly string[]): string {
  const { text } = cleaned(note.toWellFormed().trim(), userMessages);
  return text === "" ? "" : `## Your own note from before the compaction\n<note>\n${withoutSummaryTags(text)}\n</note>`;
}
