import { isObject, type Json } from "palimpsest/internal/schema/json";
import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/wire-block";
import type { ReplyBlock } from "palimpsest/internal/schema/wire/reply-message";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { hash } from "node:crypto";

/**
 * The same text for the same block, as the model is shown it: markers, absent fields and fields that only replies carry
 * do not matter, nor does the order of the outermost fields. Inside a call's input the order counts. The common kinds
 * are spelled out, since every block of every request that comes over HTTP passes through here.
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

/** Defaults that are spelled out say nothing. */
export function canonicalTool(tool: WireTool): string {
  const told = Object.entries(tool).filter(
    ([name, value]) => value !== false && !(name === "type" && value === "custom"),
  );
  return canonicalFields(Object.fromEntries(told));
}

function resultText(content: string | readonly WireResultPart[] | undefined): string {
  if (content === undefined) return "";
  return typeof content === "string" ? `text:${content}` : content.map((part) => resultPart(part)).join("\u0000");
}

const resultPart = (part: WireResultPart): string =>
  part.type === "text" ? `text:${part.text}` : canonicalFields(part);

/** For `JSON.stringify`, where the order of fields says nothing. */
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

/** 128 bits of SHA-256: enough to tell blocks apart, short enough to keep hundreds of thousands of them. */
export const shortHash = (text: string): string => hash("sha256", text, "base64url").slice(0, 22);
