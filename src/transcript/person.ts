import type { Entry } from "../schema/entry.ts";

/** Text that clients log in the user's name and no person typed: slash commands and their output, reminders, interruptions. */
const machineText =
  /^\s*(?:<(?:command-|local-command|system-reminder|task-notification|bash-)|\[Request interrupted by user)/;

/** What a person typed in this entry: not meta, not results, not reminders, not command output, not a summary. */
export function typedText(entry: Entry): string | undefined {
  if (entry.kind !== "user" || entry.meta || entry.summary || entry.sidechain) return undefined;
  if (entry.blocks.some((block) => block.type === "tool_result")) return undefined;
  const texts = entry.blocks.flatMap((block) =>
    block.type === "text" && !machineText.test(block.text) ? [block.text] : [],
  );
  const typed = texts.join("\n").trim();
  return typed === "" ? undefined : typed;
}
