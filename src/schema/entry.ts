import { type Block, parseBlock } from "./block.ts";
import { type EntryId, type MessageId, entryId, messageId } from "./brand.ts";
import { type Edit, readEdit } from "./edit.ts";
import { field, isArray, isObject, type Json, type JsonObject, text } from "./json.ts";

/**
 * One line of a transcript. `raw` is the parsed line itself: fields and kinds that we do not know stay on it. The
 * other properties are what our code reads, checked once, here.
 */
interface Envelope {
  readonly id: EntryId | undefined;
  readonly parent: EntryId | null;
  readonly logicalParent: EntryId | undefined;
  readonly sidechain: boolean;
  readonly raw: JsonObject;
}

export type Entry = UserEntry | AssistantEntry | AttachmentEntry | EditEntry | OtherEntry;

export interface UserEntry extends Envelope {
  readonly kind: "user";
  readonly blocks: readonly Block[];
  /** Written by the engine, not by a person. */
  readonly meta: boolean;
  /** The summary that stands for what a boundary covers. */
  readonly summary: boolean;
}
export interface AssistantEntry extends Envelope {
  readonly kind: "assistant";
  readonly blocks: readonly Block[];
  readonly messageId: MessageId | undefined;
  /** A placeholder of a client, for people's eyes: never sent to the model. */
  readonly synthetic: boolean;
}
export interface AttachmentEntry extends Envelope {
  readonly kind: "attachment";
  readonly attachment: JsonObject;
}
export interface EditEntry extends Envelope {
  readonly kind: "edit";
  readonly id: EntryId;
  readonly edit: Edit;
}
/** `progress`, `system`, titles, kinds of newer versions: on the path perhaps, in the view never. */
export interface OtherEntry extends Envelope {
  readonly kind: "other";
  readonly malformed?: string;
}

export type EntryReading = { kind: "entry"; entry: Entry } | { kind: "not-an-entry"; why: string };

/**
 * Written by hand and not with zod: it runs for every line of every log that is opened, and there it costs a tenth of
 * what the schema library needs (docs/dependencies.md has the figures). Edits, which are few, go through zod.
 */
export function readEntry(raw: Json): EntryReading {
  if (!isObject(raw)) return { kind: "not-an-entry", why: "a line must hold one JSON object" };
  const type = field(raw, "type");
  if (typeof type !== "string") return { kind: "not-an-entry", why: "the object has no `type`" };
  return { kind: "entry", entry: entryOf(raw, type) };
}

function entryOf(raw: JsonObject, type: string): Entry {
  const envelope = envelopeOf(raw);
  const message = field(raw, "message");
  if (type === "user" && isObject(message)) {
    const blocks = blocksOf(message);
    return { kind: "user", ...envelope, blocks, meta: raw["isMeta"] === true, summary: raw["isCompactSummary"] === true };
  }
  if (type === "assistant" && isObject(message)) return assistantOf(envelope, message);
  if (type === "attachment") {
    const attachment = field(raw, "attachment");
    if (isObject(attachment)) return { kind: "attachment", ...envelope, attachment };
  }
  const reading = readEdit(raw);
  if (reading.kind === "edit" && envelope.id !== undefined) return { kind: "edit", ...envelope, id: envelope.id, edit: reading.edit };
  if (reading.kind === "malformed") return { kind: "other", ...envelope, malformed: reading.why };
  return { kind: "other", ...envelope };
}

function assistantOf(envelope: Envelope, message: JsonObject): AssistantEntry {
  const id = text(message, "id");
  return {
    kind: "assistant",
    ...envelope,
    blocks: blocksOf(message),
    messageId: id === undefined ? undefined : messageId(id),
    synthetic: envelope.raw["isApiErrorMessage"] === true || message["model"] === "<synthetic>",
  };
}

function envelopeOf(raw: JsonObject): Envelope {
  const id = text(raw, "uuid");
  const parent = text(raw, "parentUuid");
  const logicalParent = text(raw, "logicalParentUuid");
  return {
    id: id === undefined ? undefined : entryId(id),
    parent: parent === undefined ? null : entryId(parent),
    logicalParent: logicalParent === undefined ? undefined : entryId(logicalParent),
    sidechain: raw["isSidechain"] === true,
    raw,
  };
}

function blocksOf(message: JsonObject): readonly Block[] {
  const content = field(message, "content");
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isArray(content) ? content.map(parseBlock) : [];
}
