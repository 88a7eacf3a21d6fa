import type { ToolUseId } from "./brand.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "./json.ts";
import { toolNameCharsMax } from "./limits.ts";

/**
 * Content blocks of the Messages API. Each type lists the fields that our code reads; whatever else a block holds
 * stays on the same object and is sent back as it came.
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
/** Image, document, server tools and the like: passed through, never looked into. */
export interface PassthroughBlock {
  readonly type: keyof typeof roleByPassthroughType;
}
/** Of no type we know, or without the fields its type needs. Kept in the log, never sent. */
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

/** The only ids the API takes for a call. */
export const callIdPattern = /^[a-zA-Z0-9_-]+$/;

/** What a tool may be called, in its definition and in a call. */
export const toolNamePattern = new RegExp(`^[a-zA-Z0-9_-]{1,${toolNameCharsMax}}$`);

/** Of a block, or of a part of a result. */
export const isMediaType = (type: unknown): type is "image" | "document" => type === "image" || type === "document";

/** Types the API takes back in a request besides those above, and in whose turn. */
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
 * Checks one block where it enters. Returns the very object it was given when that holds what its type promises, so
 * that unknown fields survive and nothing is copied: this runs for every block of every log that is opened.
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

/** A provider's own summary of a conversation: a signed block, which counts only as it was given and only where it stands first. */
export interface ServerSummary {
  /** That wrote it. Whether any other takes it back is nowhere said: those are shown its text. */
  readonly model: string;
  readonly block: PassthroughBlock;
}

/** The beta under which such blocks are asked for and taken back: with a request for one, and with all that hold one. */
export const serverSummaryBeta = "compact-2026-09-04";

/** Undefined where an entry has none, or one that could not be sent. */
export function readServerSummary(entry: JsonObject): ServerSummary | undefined {
  const given = field(entry, "serverSummary");
  if (!isObject(given)) return undefined;
  const model = textField(given, "model");
  const block = parseBlock(field(given, "block") ?? null);
  return model !== undefined && block.type === "compaction" && compactionBlockText(block) !== undefined
    ? { model, block }
    : undefined;
}

/** What a compaction block says; undefined of other blocks, and where the compaction failed. */
export function compactionBlockText(block: Block): string | undefined {
  const said = block.type === "compaction" ? textField({ ...block }, "content") : undefined;
  return said === undefined || said.trim() === "" ? undefined : said;
}
