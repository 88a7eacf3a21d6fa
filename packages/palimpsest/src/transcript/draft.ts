import type { Message, TextBlock, ServerSummary } from "../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../schema/brand.ts";
import { type Entry, readEntry } from "../schema/entry.ts";
import { type JsonObject, parseJson } from "../schema/json.ts";

/** An entry before it is appended: the session then adds its id, parent and session fields. */
export interface Draft {
  readonly type: string;
  readonly [field: string]: unknown;
  /** Set only if the entry does not follow the leaf. */
  readonly parentUuid?: EntryId | null;
}

export interface SessionFields {
  readonly sessionId: string;
  readonly cwd: string;
  readonly version: string;
  readonly gitBranch?: string;
  /** In the transcript of an agent: its id, without the prefix. `sessionId` is then the session that it belongs to. */
  readonly agentId?: string;
  readonly isSidechain?: true;
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

/**
 * A boundary that keeps messages names the entry that they follow: its summary, which comes next and whose id is known
 * only now.
 */
export function anchorSegment(entries: readonly PlacedEntry[]): readonly PlacedEntry[] {
  const [boundary, summary, ...others] = entries;
  const metadata = boundary?.["compactMetadata"];
  if (boundary === undefined || summary === undefined || !keepsSegment(metadata)) return entries;
  const { headUuid, ...tail } = metadata.preservedSegment;
  const preservedSegment = { headUuid, anchorUuid: summary.uuid, ...tail };
  return [{ ...boundary, compactMetadata: { ...metadata, preservedSegment } }, summary, ...others];
}

const keepsSegment = (metadata: unknown): metadata is { readonly preservedSegment: { readonly headUuid: unknown } } =>
  isRecord(metadata) && isRecord(metadata["preservedSegment"]) && "headUuid" in metadata["preservedSegment"];

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Repeats a setting for a path that lost it; undefined for any other entry. */
export function repeatSetting(entry: Entry): Draft | undefined {
  if (entry.kind !== "edit" || entry.edit.type !== "setting" || isPathSetting(entry.edit.name)) return undefined;
  const { type, name, value, again = entry.id } = entry.edit;
  return { type, name, value, again };
}

const announcementPrefix = "told.";

/** Records which of a caller's messages are which entries: true of its own path only. */
export const syncSettingName = "sync.items";

const isPathSetting = (name: string): boolean => name.startsWith(announcementPrefix) || name === syncSettingName;

/** The name of a setting that records what the model was told. A path that loses the announcement must lose this record too. */
export const announcementSetting = (what: string): string => `${announcementPrefix}${what}`;

export const userDraft = (text: string): Draft => ({ type: "user", message: { role: "user", content: text } });

export const replyDraft = ({
  asked,
  ...reply
}: {
  readonly id: MessageId;
  /** The provider's name for it. */
  readonly model: string;
  /** The model that was requested. */
  readonly asked?: string | undefined;
  readonly content: Message["content"];
  readonly usage?: JsonObject;
  readonly stop_reason?: string;
}): Draft => ({
  type: "assistant",
  message: { type: "message", role: "assistant", ...reply },
  ...(asked === undefined || asked === reply.model ? {} : { askedModel: asked }),
});

interface ResultDraft {
  readonly toolUse: ToolUseId;
  readonly content: string | readonly JsonObject[];
  readonly isError?: boolean;
  /** The state of a file as the tool read it, for when the session is reopened. */
  readonly readFile?: JsonObject | undefined;
  /** One line for the user, as shown when the result arrived. */
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
  /** The whole summary, or the text of the provider's block if there is one: every model can read this. */
  readonly summary: string;
  readonly server?: SummaryBlockDraft | undefined;
}

export interface SummaryBlockDraft extends ServerSummary {
  /**
   * Text that goes with the summary and is not in the block. Must not be blank, because a request that ends in a
   * summary asks for nothing.
   */
  readonly beside: string;
}

/** The form that every reader of such logs knows, whoever wrote the summary. The block is in a separate field. */
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

/** Readers of such logs look for this text. */
export const boundaryText = "Conversation compacted";

/** The entry as it reads back. A receipt that is added to its line later does not change it. */
export const readBack = (raw: PlacedEntry): Entry => parseDraft(JSON.stringify(raw));

/** Every draft must parse as an entry; if not, it is a bug. */
export function parseDraft(line: string): Entry {
  const outcome = readEntry(parseJson(line));
  if (outcome.kind !== "entry") throw new Error(`a draft without a type: ${outcome.why}`);
  return outcome.entry;
}
