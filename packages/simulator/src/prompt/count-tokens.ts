import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/wire-block";
import type { ToolChange, WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { memoryTool, memoryToolText } from "./tool-set.ts";
import { TextScanner } from "./text-scanner.ts";
import { imageHeader } from "palimpsest/internal/tokens/image-header";

/**
 * How many tokens a text has for the simulator's models. It cuts a text as byte-pair encodings do and knows what such
 * pieces cost on average; it has no vocabulary. It differs from the engine's estimate on purpose, so that the engine's
 * estimates have realistic errors.
 */
export const countTokens = (text: string): number => new TextScanner(text).count();

/** Tokens of one content block of a request. Markers, ids and signatures cost nothing. */
export function countBlockTokens(block: WireBlock): number {
  switch (block.type) {
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use":
      return callTokens + countTokens(block.name) + countJson(block.input);
    case "tool_result":
      return resultTokens + countContent(block.content ?? "");
    case "thinking":
      return countTokens(block.thinking);
    case "redacted_thinking":
      // Hidden thinking is counted by its seal.
      return 0;
    case "compaction":
      return (
        countTokens(block.content ?? "") + (block.tool_changes ?? []).reduce((sum, one) => sum + countChange(one), 0)
      );
    case "tool_addition":
    case "tool_removal":
      return countChange(block);
    case "container_upload":
      return countTokens(block.file_id);
    case "web_search_tool_result":
    case "web_fetch_tool_result":
    case "code_execution_tool_result":
    case "bash_code_execution_tool_result":
    case "text_editor_code_execution_tool_result":
    case "tool_search_tool_result":
      return resultTokens + countJson(block.content);
    case "mcp_tool_result":
      return resultTokens + countContent(block.content ?? "");
    case "text":
    case "image":
    case "document":
    case "search_result":
      return countPart(block);
  }
}

/**
 * Tokens of one tool's definition; for the memory tool the definition that the API has. The overhead of having tools at
 * all is not included.
 */
export function countToolTokens(tool: WireTool): number {
  const { cache_control: _marker, defer_loading: _loading, ...shown } = tool;
  const known = tool.type === memoryTool.type ? countTokens(memoryToolText) : 0;
  return toolTokens + countJson(shown) + known;
}

const countChange = ({ tool }: ToolChange): number =>
  tool.type === "tool_definition" ? countToolTokens(tool.definition) : countJson(tool);

/** Overhead of a call, a result and a definition. */
const callTokens = 8;
const resultTokens = 6;
const toolTokens = 10;
const pdfPageTokens = 1_500;

function countContent(content: string | readonly WireResultPart[]): number {
  if (typeof content === "string") return countTokens(content);
  return content.reduce((sum, part) => sum + countPart(part), 0);
}

function countPart(part: WireResultPart): number {
  switch (part.type) {
    case "text":
      return countTokens(part.text);
    case "image":
      return countImageTokens(part.source);
    case "document":
      return countDocument(part);
    case "search_result":
      return countTokens(`${part.title}\n${part.source}\n`) + countContent(part.content);
    case "tool_reference":
      return countTokens(part.tool_name);
    case "browser_state":
      return countJson(part);
  }
}

function countDocument({ source, title, context }: Extract<WireBlock, { type: "document" }>): number {
  const around = countTokens(`${title ?? ""}${context ?? ""}`);
  switch (source.type) {
    case "base64":
      return around + countPdfPages(source.data) * pdfPageTokens;
    case "text":
      return around + countTokens(source.data);
    case "content":
      return around + countContent(source.content);
    // The simulator cannot see what is behind a URL or a file id, so it counts one page.
    case "url":
    case "file":
      return around + pdfPageTokens;
  }
}

const countJson = (value: unknown): number => countTokens(JSON.stringify(value) ?? "");

type ImageSource = Extract<WireBlock, { type: "image" }>["source"];

/** Larger images are scaled down before the model sees them; an image whose size cannot be read counts as this much. */
const imageTokensMax = 1_600;
const pixelsPerToken = 750;

function countImageTokens(source: ImageSource): number {
  const size = source.type === "base64" ? imageHeader(source.data) : undefined;
  if (size === undefined || size.width === 0 || size.height === 0) return imageTokensMax;
  return Math.min(imageTokensMax, Math.ceil((size.width * size.height) / pixelsPerToken));
}

/**
 * Pages of a PDF, roughly: page objects that are not compressed, or else the count of a page tree. If both are inside
 * compressed objects, one page is assumed.
 */
function countPdfPages(base64: string): number {
  const source = Buffer.from(base64, "base64").toString("latin1");
  const objects = source.match(/\/Type\s*\/Page(?![A-Za-z])/g) ?? [];
  if (objects.length > 0) return objects.length;
  let pages = 1;
  for (const [, count] of source.matchAll(/\/Count\s+(\d{1,5})\b/g)) pages = Math.max(pages, Number(count));
  return pages;
}
