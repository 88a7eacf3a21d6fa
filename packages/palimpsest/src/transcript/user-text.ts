import type { AttachmentEntry, Entry } from "../schema/entry.ts";
import { field, isArray, isObject, type Json, textField } from "../schema/json.ts";

/** Text that clients log in the user's name and no person typed: slash commands and their output, reminders, interruptions. */
const machineTextPattern =
  /^\s*(?:<(?:command-|local-command|system-reminder|task-notification|bash-)|\[Request interrupted by user)/;

/** What a person typed in this entry: not meta, not results, not reminders, not command output, not a summary. */
export function userTypedText(entry: Entry): string | undefined {
  const holdsResults = entry.kind === "user" && entry.blocks.some((block) => block.type === "tool_result");
  return holdsResults ? undefined : plainUserText(entry);
}

/** What a person said in this entry: typed as a message, or while the agent was at work, queued or beside results. */
export function userText(entry: Entry): string | undefined {
  return entry.kind === "attachment" && !entry.sidechain ? readQueuedText(entry) : plainUserText(entry);
}

function plainUserText(entry: Entry): string | undefined {
  if (entry.kind !== "user" || entry.meta || entry.summary || entry.sidechain) return undefined;
  const texts = entry.blocks.flatMap((block) =>
    block.type === "text" && !machineTextPattern.test(block.text) ? [block.text] : [],
  );
  const typed = texts.join("\n").trim();
  return typed === "" ? undefined : typed;
}

/** Clients queue what machines tell the agent in the same way, and name the mode then. */
function readQueuedText({ attachment }: AttachmentEntry): string | undefined {
  if (
    textField(attachment, "type") !== "queued_command" ||
    (textField(attachment, "commandMode") ?? "prompt") !== "prompt"
  )
    return undefined;
  const said = plainPrompt(field(attachment, "prompt")).trim();
  return said === "" || machineTextPattern.test(said) ? undefined : said;
}

function plainPrompt(prompt: Json | undefined): string {
  if (typeof prompt === "string") return prompt;
  return isArray(prompt)
    ? prompt.flatMap((part) => (isObject(part) ? (textField(part, "text") ?? []) : [])).join("\n")
    : "";
}
