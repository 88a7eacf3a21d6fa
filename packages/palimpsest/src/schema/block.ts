import type { ToolUseId } from "./brand.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "./json.ts";
import { toolNameCharsMax } from "./limits.ts";

/**
 * Content blocks of the Messages API. Each type lists the fields that our code reads; any other field stays on the same
 * object and is sent back unchanged.
 */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}
interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly signature: string;
}
interface RedactedThinkingBlock {
  readonly type: "redacted_thinking";
  readonly data: string;
}
export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: ToolUseId;
  readonly name: string;
  readonly input: JsonObject;
}
export type ResultContent = string | readonly JsonObject[];
export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: ToolUseId;
  readonly content?: ResultContent;
  readonly is_error?: boolean;
}
/** Images, documents, server tools and the like: passed through without being read. */
export interface PassthroughBlock {
  readonly type: keyof typeof roleByPassthroughType;
}
/** A block of an unknown type, or without the fields that its type needs. Kept in the log, never sent. */
interface UnknownBlock {
  readonly type: "unknown";
  readonly was: Json;
}

export type Block =
  | TextBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | PassthroughBlock
  | UnknownBlock;

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: readonly Block[];
}

/** The API accepts only such ids for a call. */
export const callIdPattern = /^[a-zA-Z0-9_-]+$/;

/** Valid names of a tool, in its definition and in a call. */
export const toolNamePattern = new RegExp(`^[a-zA-Z0-9_-]{1,${toolNameCharsMax}}$`);

/** The type of a block or of a part of a result. */
export const isMediaType = (type: unknown): type is "image" | "document" => type === "image" || type === "document";

/** The other types that the API accepts in a request, and the role of the message that may hold them. */
export const roleByPassthroughType = {
  image: "user",
  document: "user",
  search_result: "user",
  container_upload: "user",
  compaction: "assistant",
  server_tool_use: "assistant",
  web_search_tool_result: "assistant",
  web_fetch_tool_result: "assistant",
  code_execution_tool_result: "assistant",
  bash_code_execution_tool_result: "assistant",
  text_editor_code_execution_tool_result: "assistant",
  tool_search_tool_result: "assistant",
  mcp_tool_use: "assistant",
  mcp_tool_result: "assistant",
} as const;

/**
 * Validates one block. Returns the same object if it is valid, so that unknown fields survive and nothing is copied:
 * this runs for every block of every log that is opened.
 */
export function parseBlock(value: Json): Block {
  if (isObject(value) && isKnownBlock(value)) return value;
  return { type: "unknown", was: value };
}

function isKnownBlock(block: JsonObject & { type?: Json }): block is JsonObject & Exclude<Block, UnknownBlock> {
  switch (block.type) {
    case "text":
      return typeof field(block, "text") === "string";
    case "thinking":
      return typeof field(block, "thinking") === "string" && typeof field(block, "signature") === "string";
    case "redacted_thinking":
      return typeof field(block, "data") === "string";
    case "tool_use":
      return (
        typeof field(block, "id") === "string" &&
        typeof field(block, "name") === "string" &&
        isObject(field(block, "input"))
      );
    case "tool_result":
      return typeof field(block, "tool_use_id") === "string" && isResultContent(field(block, "content"));
    default:
      return typeof block.type === "string" && Object.hasOwn(roleByPassthroughType, block.type);
  }
}

const isResultContent = (content: Json | undefined): boolean =>
  content === undefined || typeof content === "string" || (isArray(content) && content.every((part) => isObject(part)));

/** A provider's own summary of a conversation: a signed block, valid only unchanged and only as the first block. */
export interface ServerSummary {
  /** The model that wrote it. It is not documented whether other models accept it, so those are sent its text. */
  readonly model: string;
  readonly block: PassthroughBlock;
}

/** The beta header for server summaries: needed in a request for one and in every request that contains one. */
export const serverSummaryBeta = "compact-2026-09-04";

/** Undefined if the entry has none, or one that can't be sent. */
export function readServerSummary(entry: JsonObject): ServerSummary | undefined {
  const raw = field(entry, "serverSummary");
  if (!isObject(raw)) return undefined;
  const model = textField(raw, "model");
  const block = parseBlock(field(raw, "block") ?? null);
  return model !== undefined && block.type === "compaction" && compactionBlockText(block) !== undefined
    ? { model, block }
    : undefined;
}

/** The text of a compaction block; undefined for other blocks, and if the compaction failed. */
export function compactionBlockText(block: Block): string | undefined {
  const text = block.type === "compaction" ? textField({ ...block }, "content") : undefined;
  return text === undefined || text.trim() === "" ? undefined : text;
}
