import type { SearchTextKind } from "../ports/session-search.ts";
import type { Block, ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { field, isArray, isObject, type Json, type JsonObject, parseJson, tryParseJson } from "../schema/json.ts";
import { attachmentText } from "../transcript/attachment-text.ts";

/** One text of an entry, as a person would search for it. */
export interface EntryText {
  readonly kind: SearchTextKind;
  /** What gets it back: the call's id of a result, else the entry's. */
  readonly id: EntryId | ToolUseId;
  readonly text: string;
  /** Whether what `id` gives back is this very text, so that places in one are places in the other. */
  readonly form: "verbatim" | "gathered";
  /** Of a call and of its result. */
  readonly toolUse?: ToolUseId;
  /** Of a call. */
  readonly tool?: string;
}

/** Results that an edit moved to a blob: read by whoever has the blobs. */
export interface BlobText {
  readonly id: ToolUseId;
  readonly blob: BlobId;
  readonly media: "text" | "json";
}

/** Always the same texts in the same order, so that one can be read again by its number. */
export function entryTexts(entry: Entry): readonly EntryText[] {
  const { id } = entry;
  if (id === undefined) return [];
  switch (entry.kind) {
    case "user": {
      const kind = entry.summary ? "summary" : entry.meta ? "meta" : "user";
      return blockTexts({ id, kind, blocks: entry.blocks });
    }
    case "assistant":
      return blockTexts({ id, kind: "reply", blocks: entry.blocks });
    case "attachment": {
      const said = attachmentText(entry.attachment);
      return said === undefined ? [] : [{ kind: "attachment", id, text: said, form: "gathered" }];
    }
    case "edit":
      return entry.edit.type === "collapse" ? [{ kind: "stand-in", id, text: entry.edit.shown, form: "gathered" }] : [];
    case "other":
      return [];
  }
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
  const said: EntryText[] = [];
  const own: string[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case "text":
        own.push(block.text);
        break;
      case "thinking":
        said.push({ kind: "thinking", id, text: block.thinking, form: "gathered" });
        break;
      case "tool_use": {
        const input = Object.values(block.input).map((value) => joinText(value));
        const text = [block.name, ...input].join("\n");
        said.push({ kind: "call", id, text, form: "gathered", toolUse: block.id, tool: block.name });
        break;
      }
      case "tool_result":
        said.push({ kind: "result", id: block.tool_use_id, toolUse: block.tool_use_id, ...resultText(block.content) });
        break;
      case "redacted_thinking":
        break;
      case "unknown":
        own.push(joinText(block.was));
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
        // Types that our code passes on unread: the fields are not in their types.
        own.push(joinText(parseJson(JSON.stringify(block))));
        break;
    }
  }
  const text = own.filter((one) => one.trim() !== "").join("\n");
  if (text !== "") said.push({ kind, id, text, form: "gathered" });
  return said;
}

const resultText = (content: ResultContent | undefined): Pick<EntryText, "text" | "form"> =>
  typeof content === "string"
    ? { text: content, form: "verbatim" }
    : { text: joinText(content ?? []), form: "gathered" };

/** Every text and number below, a line each; not keys, not what types are called, and nothing in base64. */
function joinText(value: Json): string {
  const words: string[] = [];
  gatherText(value, words);
  return words.join("\n");
}

function gatherText(value: Json, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (typeof value === "number") into.push(String(value));
  else if (isArray(value)) for (const one of value) gatherText(one, into);
  else if (isObject(value))
    for (const [key, one] of Object.entries(value)) if (!isOpaque(key, value)) gatherText(one, into);
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
