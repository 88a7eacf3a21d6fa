import { field, isArray, isObject, type Json, type JsonObject, textField } from "../schema/json.ts";
import { workingStateAttachmentType } from "../schema/restored-part.ts";
import { type EntryId, entryId } from "../schema/brand.ts";
import type { AttachmentEntry, EditEntry, Entry } from "../schema/entry.ts";
import { userText } from "./user-text.ts";

/**
 * What the model sees of an attachment: a reminder, or undefined if the attachment is only for the user. Frozen like
 * every text in the view: a change of wording here changes bytes that were already sent, so a test pins the words.
 */
export function attachmentText(attachment: JsonObject): string | undefined {
  const type = textField(attachment, "type") ?? "attachment";
  const body = attachmentBody(type, attachment);
  // It has an element of its own: inside a reminder, another agent's words would look like the engine's.
  if (type === agentMessageAttachmentType) return body;
  return body === undefined || body.trim() === "" ? undefined : wrapReminder(body);
}

/**
 * The type of the attachments that bring in instructions for a part of the project. In ours `shown` is the text for the
 * model; other programs log the file.
 */
export const nestedMemoryAttachmentType = "nested_memory";

/** The part of the working state that brings them in again behind a boundary. */
export const nestedPartName = "nested";

export const bringsInstructions = (attachment: JsonObject): boolean =>
  textField(attachment, "type") === nestedMemoryAttachmentType ||
  (textField(attachment, "type") === workingStateAttachmentType && textField(attachment, "part") === nestedPartName);

/** For texts that hooks add, and for the engine's notices of a changed header. */
export const hookContextAttachmentType = "hook_additional_context";

export const wrapReminder = (body: string): string => `<system-reminder>\n${body}\n</system-reminder>`;

/** Escapes text for a reminder, so that nothing in it can close the surrounding tag. */
export const escapeReminderTag = (text: string): string => text.replaceAll(/<(?=\/\s*system-reminder)/gi, "<\\");

/** Types that other clients log only for display: permissions, hook output that went to the screen. */
const uiOnlyTypes: ReadonlySet<string> = new Set(["command_permissions", "hook_success", "hook_system_message"]);

/** Types in which Claude Code records what a request had besides its messages. */
const recordTypes: ReadonlySet<string> = new Set(["prompt_snapshot", "session_context"]);

function attachmentBody(type: string, attachment: JsonObject): string | undefined {
  if (uiOnlyTypes.has(type) || recordTypes.has(type)) return undefined;
  const content = field(attachment, "content");
  switch (type) {
    case "queued_command":
      return `The user sent this while you were working. Go on with it in mind:\n${plainText(field(attachment, "prompt"))}`;
    case nestedMemoryAttachmentType: {
      const shown = textField(attachment, "shown");
      return shown ?? `Content of ${attachmentFileName(attachment)}:\n${fileText(content)}`;
    }
    case "file":
      return `Content of ${attachmentFileName(attachment)}:\n${fileText(content)}`;
    case "edited_text_file":
      return `${attachmentFileName(attachment)} has changed on disk. It now reads:\n${plainText(field(attachment, "snippet"))}`;
    case "compact_file_reference":
      return `${attachmentFileName(attachment)} was read before the conversation was compacted. Read it again if you need it.`;
    case hookContextAttachmentType:
    case workingStateAttachmentType:
    case pressureAttachmentType:
    case reminderAttachmentType:
    case agentMessageAttachmentType:
      return plainText(content);
    case memoriesAttachmentType:
      return content === undefined ? `${type}: ${JSON.stringify(attachment)}` : plainText(content);
    case "task_reminder":
      return isArray(content) && content.length === 0 ? undefined : `Current tasks:\n${plainText(content)}`;
    default:
      return content === undefined ? `${type}: ${JSON.stringify(attachment)}` : `${type}:\n${plainText(content)}`;
  }
}

const attachmentFileName = (attachment: JsonObject): string =>
  textField(attachment, "filename") ?? textField(attachment, "path") ?? "a file";

/** Files are plain text or wrapped: `{type, file: {content}}`, `{path, content}`. */
function fileText(content: Json | undefined): string {
  if (!isObject(content)) return plainText(content);
  const file = field(content, "file");
  return plainText(isObject(file) ? field(file, "content") : field(content, "content"));
}

function plainText(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  if (isArray(value) && value.every((part) => typeof part === "string")) return value.join("\n");
  return JSON.stringify(value);
}

/** The field in which an attachment that was written later than its boundary names the boundary. */
const boundaryField = "boundary";

/** Marks an attachment so that an undo of the boundary also removes the attachment, wherever it is. */
export const tagWithBoundary = (attachment: JsonObject, boundary: EntryId): JsonObject => ({
  ...attachment,
  [boundaryField]: boundary,
});

/** The boundary that an attachment names; undefined for most, whose position says whether they belong to one. */
export function boundaryTag({ attachment }: AttachmentEntry): EntryId | undefined {
  const named = textField(attachment, boundaryField);
  return named === undefined ? undefined : entryId(named);
}

/**
 * Whether an attachment right after a boundary's summary was made for that boundary. Other attachments can follow a
 * summary too: a message that was queued meanwhile, the notices of a resume. Our own are marked. Other programs mark
 * nothing: all of theirs count as made for the boundary, except the user's messages and the texts that hooks add, which
 * concern more than the boundary.
 */
export function isMadeForBoundary(entry: AttachmentEntry, { id, edit }: EditEntry): boolean {
  const named = boundaryTag(entry);
  if (named !== undefined) return named === id;
  const type = textField(entry.attachment, "type");
  if (type === workingStateAttachmentType) return true;
  const isOurs = edit.type === "boundary" && edit.metadata.checkpoint !== undefined;
  return !isOurs && type !== hookContextAttachmentType && userText({ ...entry, sidechain: false }) === undefined;
}

/** The type of the attachments that tell the model how full its context is. Their text is frozen in the log. */
export const pressureAttachmentType = "context_pressure";

/**
 * The type of the attachments that remind the model of events outside the conversation: a new day, changed files, a
 * neglected task list. Their text is frozen in the log.
 */
export const reminderAttachmentType = "turn_reminder";

/** The type of the attachments with memories that have to do with a message. A category of its own in the report. */
export const memoriesAttachmentType = "relevant_memories";

/** The type of the attachments with messages of other agents, as `renderAgentMessage` writes them. */
export const agentMessageAttachmentType = "agent_message";

/** What somebody has said: a message of the conversation, or one of another agent, which is nowhere else any more. */
export const isSaid = (entry: Entry): boolean =>
  entry.kind === "user" ||
  entry.kind === "assistant" ||
  (entry.kind === "attachment" && textField(entry.attachment, "type") === agentMessageAttachmentType);
