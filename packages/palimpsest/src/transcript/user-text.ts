import type { AttachmentEntry, Entry } from "../schema/entry.ts";
import { field, isArray, isObject, type Json, textField } from "../schema/json.ts";

/**
 * Text that clients log in the user's name but the user did not type: slash commands and their output, reminders,
 * interruptions.
 */
const machineTextPattern =
  /^\s*(?:<(?:command-|local-command|system-reminder|task-notification|bash-)|\[Request interrupted by user)/;

/** What the user typed in this entry: not meta, not results, not reminders, not command output, not a summary. */
export function userTypedText(entry: Entry): string | undefined {
  const holdsResults = entry.kind === "user" && entry.blocks.some((block) => block.type === "tool_result");
  return holdsResults ? undefined : plainUserText(entry);
}

/** What the user said in this entry: as a message, or while the agent was working, queued or next to results. */
export function userText(entry: Entry): string | undefined {
  return entry.kind === "attachment" && !entry.sidechain ? readQueuedText(entry) : plainUserText(entry);
}

function plainUserText(entry: Entry): string | undefined {
  if (entry.kind !== "user" || entry.meta || entry.summary || entry.sidechain) return undefined;
  const texts: string[] = [];
  for (const block of entry.blocks)
    if (block.type === "text" && !machineTextPattern.test(block.text)) texts.push(block.text);
  const typed = texts.join("\n").trim();
  return typed === "" ? undefined : typed;
}

/** Clients also queue automatic messages in this way, but with another mode. */
function readQueuedText({ attachment }: AttachmentEntry): string | undefined {
  if (
    textField(attachment, "type") !== "queued_command" ||
    (textField(attachment, "commandMode") ?? "prompt") !== "prompt"
  )
    return undefined;
  const text = plainPrompt(field(attachment, "prompt")).trim();
  return text === "" || machineTextPattern.test(text) ? undefined : text;
}

function plainPrompt(prompt: Json | undefined): string {
  if (typeof prompt === "string") return prompt;
  return isArray(prompt)
    ? prompt.flatMap((part) => (isObject(part) ? (textField(part, "text") ?? []) : [])).join("\n")
    : "";
}
