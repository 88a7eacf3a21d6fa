import type { Message, TextBlock, ServerSummary } from "../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../schema/brand.ts";
import { type Entry, readEntry } from "../schema/entry.ts";
import { type JsonObject, parseJson } from "../schema/json.ts";

/** An entry before it has its place: the session adds identity, parent and circumstances when it appends it. */
export interface Draft {
  readonly type: string;
  readonly [field: string]: unknown;
  /** Set only where the entry does not continue at the leaf. */
  readonly parentUuid?: EntryId | null;
}

export interface SessionFields {
  readonly sessionId: string;
  readonly cwd: string;
  readonly version: string;
  readonly gitBranch?: string;
}

/** A raw entry, ready to be written. */
export interface PlacedEntry {
  readonly uuid: string;
  readonly [field: string]: unknown;
}

/** The raw entry of a draft, fields in the ecosystem's order. */
export function placeDraft(
  draft: Draft,
  {
    uuid,
    leaf,
    timestamp,
    circumstances,
  }: {
    readonly uuid: string;
    readonly leaf: EntryId | undefined;
    readonly timestamp: string;
    readonly circumstances: SessionFields;
  },
): PlacedEntry {
  const { parentUuid = leaf ?? null, ...fields } = draft;
  return { parentUuid, isSidechain: false, userType: "external", ...circumstances, ...fields, uuid, timestamp };
}

/** A boundary that keeps messages names the entry that they follow: its summary, the next one, whose id is known only now. */
export function anchorSegment(raws: readonly PlacedEntry[]): readonly PlacedEntry[] {
  const [boundary, summary, ...others] = raws;
  const metadata = boundary?.["compactMetadata"];
  if (boundary === undefined || summary === undefined || !keepsSegment(metadata)) return raws;
  const { headUuid, ...tail } = metadata.preservedSegment;
  const preservedSegment = { headUuid, anchorUuid: summary.uuid, ...tail };
  return [{ ...boundary, compactMetadata: { ...metadata, preservedSegment } }, summary, ...others];
}

const keepsSegment = (metadata: unknown): metadata is { readonly preservedSegment: { readonly headUuid: unknown } } =>
  isRecord(metadata) && isRecord(metadata["preservedSegment"]) && "headUuid" in metadata["preservedSegment"];

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** A setting once more, for a path that lost it; undefined of any other entry. */
export function repeatSetting(entry: Entry): Draft | undefined {
  if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name.startsWith(announcementPrefix))
    return undefined;
  const { type, name, value, again = entry.id } = entry.edit;
  return { type, name, value, again };
}

const announcementPrefix = "told.";

/** The name of a setting that says what the model was told. It is of its place: where the telling is left behind, so is this. */
export const announcementSetting = (what: string): string => `${announcementPrefix}${what}`;

export const userDraft = (text: string): Draft => ({ type: "user", message: { role: "user", content: text } });

interface ReplyDraft {
  readonly id: MessageId;
  /** As the provider calls it. */
  readonly model: string;
  /** Who was asked. */
  readonly asked?: string | undefined;
  readonly content: Message["content"];
  readonly usage?: JsonObject;
  readonly stop_reason?: string;
}
export const replyDraft = ({ asked, ...reply }: ReplyDraft): Draft => ({
  type: "assistant",
  message: { type: "message", role: "assistant", ...reply },
  ...(asked === undefined || asked === reply.model ? {} : { askedModel: asked }),
});

interface ResultDraft {
  readonly toolUse: ToolUseId;
  readonly content: string | readonly JsonObject[];
  readonly isError?: boolean;
  /** What the tool found a file to be, for whoever opens the session again. */
  readonly readFile?: JsonObject | undefined;
  /** For people, in a line, as it was told when it came. */
  readonly summary?: string | undefined;
}
export const resultDraft = ({ toolUse, content, isError, readFile, summary }: ResultDraft): Draft => ({
  type: "user",
  message: {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: toolUse, content, ...(isError === true ? { is_error: true } : {}) }],
  },
  ...(readFile === undefined ? {} : { readFile }),
  ...(summary === undefined || summary === "" ? {} : { resultSummary: summary }),
});

interface SummaryDraft {
  /** The whole of it, or what the provider's block says where there is one: any model reads this. */
  readonly summary: string;
  readonly server?: SummaryBlockDraft | undefined;
}

export interface SummaryBlockDraft extends ServerSummary {
  /** What stands with the summary and is not in the block. Not blank: a request that ends in a summary asks for nothing. */
  readonly beside: string;
}

/** The form that every reader of such logs knows, whoever wrote the summary. The block is a field of its own beside it. */
export const summaryDraft = ({ summary, server }: SummaryDraft): Draft => ({
  type: "user",
  message: {
    role: "user",
    content: server === undefined ? summary : [toTextBlock(summary), toTextBlock(server.beside)],
  },
  isMeta: true,
  isCompactSummary: true,
  isVisibleInTranscriptOnly: true,
  ...(server === undefined ? {} : { serverSummary: { model: server.model, block: server.block } }),
});

const toTextBlock = (text: string): TextBlock => ({ type: "text", text });

/** The words every reader of such logs looks for. */
export const boundaryText = "Conversation compacted";

/** What we write must read back as an entry; anything else is a bug. */
export function parseDraft(line: string): Entry {
  const reading = readEntry(parseJson(line));
  if (reading.kind !== "entry") throw new Error(`a draft without a type: ${reading.why}`);
  return reading.entry;
}
