import { isObject, type Json } from "palimpsest/internal/schema/json";
import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/wire-block";
import type { ReplyBlock } from "palimpsest/internal/schema/wire/reply-message";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { hash } from "node:crypto";

/**
 * The same text for the same block, as the model is shown it: markers, absent fields, fields that only replies carry
 * and the order of the outermost fields do not matter. Inside a call's input the order counts. The common kinds are
 * spelled out, because every block of every request over HTTP passes through here.
 */
export function canonicalBlock(block: WireBlock | ReplyBlock): string {
  switch (block.type) {
    case "text":
      return block.citations?.length ? canonicalFields(block) : `text:${block.text}`;
    case "thinking":
      return `thinking:${block.signature}:${block.thinking}`;
    case "tool_use":
      return `tool_use:${block.id}:${block.name}:${JSON.stringify(block.input)}`;
    case "tool_result":
      return `tool_result:${block.tool_use_id}:${block.is_error === true ? "error" : ""}:${resultText(block.content)}`;
    case "tool_addition":
      return block.tool.type === "tool_definition"
        ? `tool_addition:${canonicalTool(block.tool.definition)}`
        : canonicalFields(block);
    default:
      return canonicalFields(block);
  }
}

/** A default that is spelled out counts as absent. */
export function canonicalTool(tool: WireTool): string {
  const fields = Object.entries(tool).filter(
    ([name, value]) => value !== false && !(name === "type" && value === "custom"),
  );
  return canonicalFields(Object.fromEntries(fields));
}

function resultText(content: string | readonly WireResultPart[] | undefined): string {
  if (content === undefined) return "";
  return typeof content === "string" ? `text:${content}` : content.map((part) => resultPart(part)).join("\u0000");
}

const resultPart = (part: WireResultPart): string =>
  part.type === "text" ? `text:${part.text}` : canonicalFields(part);

/** A replacer for `JSON.stringify`, for values in which the order of fields does not matter. */
export const sortFields = (_key: string, value: Json): Json =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;

const fieldsNotShown = new Set(["cache_control", "caller"]);

function canonicalFields(value: object): string {
  const fields = Object.entries(value)
    .filter(([name, inner]) => inner !== null && inner !== undefined && !fieldsNotShown.has(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(fields);
}

/** 132 bits of SHA-256: enough to tell blocks apart, short enough to keep hundreds of thousands of them. */
export const shortHash = (text: string): string => hash("sha256", text, "base64url").slice(0, 22);
