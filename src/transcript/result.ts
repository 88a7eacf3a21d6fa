import { type Block, parseBlock, type ResultContent, type ToolResultBlock } from "../schema/block.ts";
import { type JsonObject, text } from "../schema/json.ts";

/** A result's own blocks: what the API takes inside `tool_result`. */
const innerTypes: ReadonlySet<string> = new Set(["text", "image", "document", "search_result", "tool_reference"]);

export interface ResultLook {
  readonly toolName: string;
  /** The text that an edit froze for this result. */
  readonly shown: string | undefined;
}

/** A result as it is sent: the frozen text where an edit decided, else its content in a form the API takes, never empty. */
export function resultBlock(block: ToolResultBlock, look: ResultLook): Block {
  const content = filled(look.shown ?? block.content, look.toolName);
  return sendable(content === block.content ? block : { ...block, content });
}

/** What stands for a result without a visible character: the API takes no empty one. */
const noOutput = (toolName: string): string => `(${toolName} completed with no output)`;

export function isEmptyContent(content: ResultContent): boolean {
  return typeof content === "string" ? content.trim() === "" : content.every((part) => isBlankText(part));
}

function filled(content: ResultContent | undefined, toolName: string): ResultContent {
  if (content === undefined || isEmptyContent(content)) return noOutput(toolName);
  if (typeof content === "string" || content.every((part) => isInner(part))) return content;
  return content.filter((part) => !isBlankText(part)).map((part) => (isInner(part) ? part : asText(part)));
}

const isBlankText = (part: JsonObject): boolean => part["type"] === "text" && (text(part, "text") ?? "").trim() === "";
const isInner = (part: JsonObject): boolean => innerTypes.has(text(part, "type") ?? "") && !isBlankText(part);
const asText = (part: JsonObject): JsonObject => ({ type: "text", text: JSON.stringify(part) });

/** Without the markers a recorded request carried: breakpoints are set anew for each request. */
export function sendable(block: Block): Block {
  if (!("cache_control" in block)) return block;
  const { cache_control: _, ...rest } = block;
  return rest;
}

const isMedia = (part: JsonObject): boolean => part["type"] === "image" || part["type"] === "document";

/** Images and documents of a result: a user's message takes them as blocks of their own. */
export const mediaOf = ({ content }: ToolResultBlock): Block[] =>
  typeof content === "object" ? content.filter((part) => isMedia(part)).map((part) => parseBlock(part)) : [];

/** The rest of a result's blocks as text. */
export const textOf = (content: readonly JsonObject[]): string =>
  content
    .filter((part) => !isMedia(part))
    .map((part) => text(part, "text") ?? JSON.stringify(part))
    .join("\n") || "(see below)";
