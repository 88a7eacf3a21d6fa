import { type Block, parseBlock, readServerSummary, type ServerSummary } from "./block.ts";
import type { EntryId, MessageId } from "./brand.ts";
import { type Edit, readEdit } from "./edit.ts";
import { readUsage, type Usage } from "./usage.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "./json.ts";

/**
 * What our code reads of one line of a transcript, checked once, here. Fields and kinds that we do not know are not
 * held in memory: the line itself keeps them, byte for byte, since nothing ever writes a line again.
 */
interface Envelope {
  readonly id: EntryId | undefined;
  /** Null at a root; undefined where the line does not say. */
  readonly parent: EntryId | null | undefined;
  readonly logicalParent: EntryId | undefined;
  readonly sidechain: boolean;
  readonly timestamp: string | undefined;
}

export type Entry = UserEntry | AssistantEntry | AttachmentEntry | EditEntry | OtherEntry;

export interface UserEntry extends Envelope {
  readonly kind: "user";
  readonly blocks: readonly Block[];
  /** Written by the engine, not by a person. */
  readonly meta: boolean;
  /** The summary that stands for what a boundary covers. */
  readonly summary: boolean;
  /** Of a summary: what its first block says, as the provider wrote and signed it. */
  readonly server: ServerSummary | undefined;
  /** What a tool found a file to be, beside its result. Whoever uses it parses it. */
  readonly readFile: JsonObject | undefined;
  /** Of a tool's result: the line by which people were told of it. */
  readonly resultSummary: string | undefined;
}
export interface AssistantEntry extends Envelope {
  readonly kind: "assistant";
  readonly blocks: readonly Block[];
  readonly messageId: MessageId | undefined;
  /** A placeholder of a client, for people's eyes: never sent to the model. */
  readonly synthetic: boolean;
  readonly model: string | undefined;
  /** By whose price it was booked, where the provider calls the model otherwise. */
  readonly askedModel: string | undefined;
  readonly usage: Usage | undefined;
  /** `usage` in the provider's words: prices depend on more of it than its counts. Half a kilobyte a reply. Whoever uses it parses it. */
  readonly saidUsage: JsonObject | undefined;
  /** The session that paid for it: a copied line keeps its own. */
  readonly session: string | undefined;
}
export interface AttachmentEntry extends Envelope {
  readonly kind: "attachment";
  readonly attachment: JsonObject;
}
export interface EditEntry extends Envelope {
  readonly kind: "edit";
  readonly id: EntryId;
  readonly edit: Edit;
  /** The session that paid for it, as of a reply. */
  readonly session?: string;
}
/** `progress`, `system`, titles, kinds of newer versions: on the path perhaps, in the view never. */
interface OtherEntry extends Envelope {
  readonly kind: "other";
  readonly malformed?: string;
  /** The system prompt that was sent from here on, where the entry records one. */
  readonly systemPrompt?: string;
  readonly title?: SessionTitle;
}

export interface SessionTitle {
  readonly text: string;
  /** `engine`: made for the user, by a model or from what they said. */
  readonly by: "user" | "engine";
}

/** Deeper than any tool's output, and shallow enough to be walked without running out of stack. */
const contentDepthMax = 200;

type ReadEntryOutcome = { kind: "entry"; entry: Entry } | { kind: "not-an-entry"; why: string };

/**
 * Written by hand and not with zod: it runs for every line of every log that is opened, and there it costs an eighth of
 * what the schema library needs (docs/dependencies.md has the figures). Edits, which are few, go through zod.
 */
export function readEntry(raw: Json): ReadEntryOutcome {
  if (!isObject(raw)) return { kind: "not-an-entry", why: "a line must hold one JSON object" };
  const type = field(raw, "type");
  if (typeof type !== "string") return { kind: "not-an-entry", why: "the object has no `type`" };
  if (isDeeper(raw["message"], contentDepthMax) || isDeeper(raw["attachment"], contentDepthMax)) {
    return { kind: "not-an-entry", why: `its content is nested more than ${contentDepthMax} levels deep` };
  }
  return { kind: "entry", entry: parseKnownEntry(raw, type) };
}

function isDeeper(value: Json | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (isDeeper(inner, levels - 1)) return true;
  return false;
}

function parseKnownEntry(raw: JsonObject, type: string): Entry {
  const id = textField(raw, "uuid") as EntryId | undefined;
  const parent = (raw["parentUuid"] === null ? null : textField(raw, "parentUuid")) as EntryId | null | undefined;
  const logicalParent = textField(raw, "logicalParentUuid") as EntryId | undefined;
  const sidechain = raw["isSidechain"] === true;
  const timestamp = textField(raw, "timestamp");
  const envelope: Envelope = { id, parent, logicalParent, sidechain, timestamp };
  const message = field(raw, "message");
  if (type === "user" && isObject(message)) {
    const meta = raw["isMeta"] === true;
    const summary = raw["isCompactSummary"] === true;
    const file = field(raw, "readFile");
    const readFile = isObject(file) ? file : undefined;
    const blocks = parseBlocks(message);
    const server = summary ? readServerSummary(raw) : undefined;
    const resultSummary = textField(raw, "resultSummary");
    return {
      kind: "user",
      id,
      parent,
      logicalParent,
      sidechain,
      timestamp,
      blocks,
      meta,
      summary,
      server,
      readFile,
      resultSummary,
    };
  }
  if (type === "assistant" && isObject(message)) {
    const reply = textField(message, "id") as MessageId | undefined;
    const synthetic = raw["isApiErrorMessage"] === true || message["model"] === "<synthetic>";
    const said = field(message, "usage");
    return {
      kind: "assistant",
      id,
      parent,
      logicalParent,
      sidechain,
      timestamp,
      blocks: parseBlocks(message),
      messageId: reply,
      synthetic,
      model: textField(message, "model"),
      askedModel: textField(raw, "askedModel"),
      usage: readUsage(message),
      saidUsage: isObject(said) ? said : undefined,
      session: textField(raw, "sessionId"),
    };
  }
  const attachment = type === "attachment" ? field(raw, "attachment") : undefined;
  return isObject(attachment) ? { kind: "attachment", ...envelope, attachment } : parseEditEntry(raw, envelope);
}

function parseEditEntry(raw: JsonObject, envelope: Envelope): Entry {
  const reading = readEdit(raw);
  if (reading.kind === "malformed") return { kind: "other", ...envelope, malformed: reading.why };
  const { id } = envelope;
  if (reading.kind !== "edit" || id === undefined) return parseOtherEntry(raw, envelope);
  const session = textField(raw, "sessionId");
  return { kind: "edit", ...envelope, id, edit: reading.edit, ...(session === undefined ? {} : { session }) };
}

function parseOtherEntry(raw: JsonObject, envelope: Envelope): OtherEntry {
  const prompt = raw["type"] === "system" && raw["subtype"] === "system_prompt" ? textField(raw, "content") : undefined;
  const title = parseTitle(raw);
  return {
    kind: "other",
    ...envelope,
    ...(prompt === undefined ? {} : { systemPrompt: prompt }),
    ...(title === undefined ? {} : { title }),
  };
}

function parseTitle(raw: JsonObject): SessionTitle | undefined {
  const by = raw["type"] === "custom-title" ? "user" : "engine";
  const given = raw["type"] === "ai-title" ? textField(raw, "aiTitle") : undefined;
  const title = by === "user" ? textField(raw, "customTitle") : given;
  return title === undefined || title.trim() === "" ? undefined : { text: title, by };
}

function parseBlocks(message: JsonObject): readonly Block[] {
  const content = field(message, "content");
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isArray(content) ? content.map(parseBlock) : [];
}
