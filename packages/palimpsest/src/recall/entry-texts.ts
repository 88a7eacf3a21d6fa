import type { SearchTextKind } from "../ports/session-search.ts";
import type { Block, ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { field, isArray, isObject, type Json, type JsonObject, parseJson, tryParseJson } from "../schema/json.ts";
import { namedSecretKind, secretMark } from "../text/find-secrets.ts";
import { attachmentText } from "../transcript/attachment-text.ts";
import { userText } from "../transcript/user-text.ts";

/** One searchable text of an entry. */
export interface EntryText {
  readonly kind: SearchTextKind;
  /** The id that returns it: the call's id for a result, else the entry's. */
  readonly id: EntryId | ToolUseId;
  readonly text: string;
  /** Whether `id` returns exactly this text, so that offsets in one are offsets in the other. */
  readonly form: "verbatim" | "gathered";
  /** For a call and its result. */
  readonly toolUse?: ToolUseId;
  /** For a call. */
  readonly tool?: string;
}

/** A result that an edit moved to a blob. */
export interface BlobText {
  readonly id: ToolUseId;
  readonly blob: BlobId;
  readonly media: "text" | "json";
}

/** Always the same texts in the same order, so that one can be read again by its index. */
export function entryTexts(entry: Entry): readonly EntryText[] {
  const { id } = entry;
  if (id === undefined) return [];
  switch (entry.kind) {
    case "user":
      return userTexts(entry, id);
    case "assistant":
      return blockTexts({ id, kind: "reply", blocks: entry.blocks });
    case "attachment": {
      const queued = userText(entry);
      if (queued !== undefined) return [{ kind: "user", id, text: queued, form: "gathered" }];
      const text = attachmentText(entry.attachment);
      return text === undefined ? [] : [{ kind: "attachment", id, text, form: "gathered" }];
    }
    case "edit":
      return entry.edit.type === "collapse" ? [{ kind: "stand-in", id, text: entry.edit.shown, form: "gathered" }] : [];
    case "other":
      return [];
  }
}

/** Of kind `user` is only what the user typed: not the output of commands, reminders, or the prompt of a sub-agent. */
function userTexts(entry: Extract<Entry, { kind: "user" }>, id: EntryId): readonly EntryText[] {
  if (entry.summary) return blockTexts({ id, kind: "summary", blocks: entry.blocks });
  const isOthers = (block: Block): boolean =>
    entry.meta || entry.sidechain || (block.type === "text" && userText({ ...entry, blocks: [block] }) === undefined);
  const { others = [], typed = [] } = Object.groupBy(entry.blocks, (block) => (isOthers(block) ? "others" : "typed"));
  return [...blockTexts({ id, kind: "meta", blocks: others }), ...blockTexts({ id, kind: "user", blocks: typed })];
}

export function entryBlobs(entry: Entry): readonly BlobText[] {
  if (entry.kind !== "edit" || (entry.edit.type !== "offload" && entry.edit.type !== "clear")) return [];
  return entry.edit.results.flatMap(({ toolUse, blob, media }) =>
    blob === undefined ? [] : [{ id: toolUse, blob, media: media ?? "text" }],
  );
}

export function readBlobText({ id, media }: BlobText, bytes: Uint8Array): EntryText {
  const whole = new TextDecoder().decode(bytes);
  const content = media === "text" ? undefined : tryParseJson(whole);
  const text: Pick<EntryText, "text" | "form"> =
    content === undefined ? { text: whole, form: "verbatim" } : { text: joinText(content), form: "gathered" };
  return { kind: "result", id, toolUse: id, ...text };
}

function blockTexts({
  id,
  kind,
  blocks,
}: {
  readonly id: EntryId;
  readonly kind: SearchTextKind;
  readonly blocks: readonly Block[];
}): readonly EntryText[] {
  const texts: EntryText[] = [];
  const parts: string[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case "text":
        parts.push(block.text);
        break;
      case "thinking":
        texts.push({ kind: "thinking", id, text: block.thinking, form: "gathered" });
        break;
      case "tool_use": {
        const input = Object.entries(block.input).map(([key, value]) => joinText(markNamed(key, value)));
        const text = [block.name, ...input].join("\n");
        texts.push({ kind: "call", id, text, form: "gathered", toolUse: block.id, tool: block.name });
        break;
      }
      case "tool_result":
        texts.push({ kind: "result", id: block.tool_use_id, toolUse: block.tool_use_id, ...resultText(block.content) });
        break;
      case "redacted_thinking":
        break;
      case "unknown":
        parts.push(joinText(block.was));
        break;
      case "image":
      case "document":
      case "search_result":
      case "container_upload":
      case "compaction":
      case "server_tool_use":
      case "web_search_tool_result":
      case "web_fetch_tool_result":
      case "code_execution_tool_result":
      case "bash_code_execution_tool_result":
      case "text_editor_code_execution_tool_result":
      case "tool_search_tool_result":
      case "mcp_tool_use":
      case "mcp_tool_result":
        // Our code passes these types on unread, so their fields are not typed.
        parts.push(joinText(parseJson(JSON.stringify(block))));
        break;
    }
  }
  const text = parts.filter((part) => part.trim() !== "").join("\n");
  if (text !== "") texts.push({ kind, id, text, form: "gathered" });
  return texts;
}

const resultText = (content: ResultContent | undefined): Pick<EntryText, "text" | "form"> =>
  typeof content === "string"
    ? { text: content, form: "verbatim" }
    : { text: joinText(content ?? []), form: "gathered" };

/** All strings and numbers in a value, one line each; without keys, type names and base64. */
function joinText(value: Json): string {
  const words: string[] = [];
  gatherText(value, words);
  return words.join("\n");
}

function gatherText(value: Json, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "number") into.push(String(value));
  else if (isArray(value)) for (const item of value) gatherText(item, into);
  else if (isObject(value))
    for (const [key, item] of Object.entries(value)) if (!isOpaque(key, value)) gatherText(markNamed(key, item), into);
}

/** Keys are not searched for, so whoever masks secrets in the text would not see the name that gives this one away. */
function markNamed(key: string, value: Json): Json {
  const kind = typeof value === "string" ? namedSecretKind(key, value) : undefined;
  return kind === undefined ? value : secretMark(kind);
}

const opaqueKeys: ReadonlySet<string> = new Set([
  "type",
  "media_type",
  "signature",
  "encrypted_content",
  "cache_control",
]);
const isOpaque = (key: string, within: JsonObject): boolean =>
  opaqueKeys.has(key) || (key === "data" && field(within, "type") === "base64");
