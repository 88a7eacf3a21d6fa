import { field, isArray, isObject, type Json, type JsonObject, text } from "../schema/json.ts";
import { pressureAttachment } from "../schema/pressure.ts";
import { reminderAttachment } from "../schema/reminder.ts";
import { workingStateAttachment } from "../schema/working-state.ts";

/**
 * What the model sees of an attachment: a reminder, or nothing where the attachment is for people only. Frozen like
 * every text in the view: a change of wording here changes bytes already sent, so the words are pinned by a test.
 */
export function attachmentText(attachment: JsonObject): string | undefined {
  const type = text(attachment, "type") ?? "attachment";
  const body = bodyOf(type, attachment);
  return body === undefined || body.trim() === "" ? undefined : asReminder(body);
}

/** What hooks add, and what the engine tells of a changed header. */
export const hookContextAttachment = "hook_additional_context";

export const asReminder = (body: string): string => `<system-reminder>\n${body}\n</system-reminder>`;

/** Text as it may stand in a reminder: nothing that is told must end the tag around it. */
export const unclosed = (told: string): string => told.replaceAll(/<(?=\/\s*system-reminder)/gi, "<\\");

/** Types that other clients log for people's eyes: permissions, hook output that went to the screen. */
const forPeople: ReadonlySet<string> = new Set(["command_permissions", "hook_success", "hook_system_message"]);

function bodyOf(type: string, attachment: JsonObject): string | undefined {
  if (forPeople.has(type)) return undefined;
  const content = field(attachment, "content");
  switch (type) {
    case "queued_command":
      return `The user sent this while you were working. Go on with it in mind:\n${plain(field(attachment, "prompt"))}`;
    case "file":
    case "nested_memory":
      return `Content of ${nameOf(attachment)}:\n${fileText(content)}`;
    case "edited_text_file":
      return `${nameOf(attachment)} has changed on disk. It now reads:\n${plain(field(attachment, "snippet"))}`;
    case "compact_file_reference":
      return `${nameOf(attachment)} was read before the conversation was compacted. Read it again if you need it.`;
    case hookContextAttachment:
    case workingStateAttachment:
    case pressureAttachment:
    case reminderAttachment:
      return plain(content);
    case "task_reminder":
      return isArray(content) && content.length === 0 ? undefined : `Current tasks:\n${plain(content)}`;
    default:
      return content === undefined ? `${type}: ${JSON.stringify(attachment)}` : `${type}:\n${plain(content)}`;
  }
}

const nameOf = (attachment: JsonObject): string => text(attachment, "filename") ?? text(attachment, "path") ?? "a file";

/** Files come as text or wrapped: `{type, file: {content}}`, `{path, content}`. */
function fileText(content: Json | undefined): string {
  if (!isObject(content)) return plain(content);
  const file = field(content, "file");
  return plain(isObject(file) ? field(file, "content") : field(content, "content"));
}

function plain(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (isArray(value) && value.every((part) => typeof part === "string")) return value.join("\n");
  return JSON.stringify(value);
}
