import { type Block, isMediaType, parseBlock, type ResultContent, type ToolResultBlock } from "../schema/block.ts";
import { type JsonObject, text } from "../schema/json.ts";
import { wireForm, wirePart } from "./wire-form.ts";

export interface ResultLook {
  readonly toolName: string;
  /** The text that an edit froze for this result. */
  readonly shown: string | undefined;
}

/** A result as it is sent: the frozen text where an edit decided, else its content in a form the API takes, never empty. */
export function resultBlock(block: ToolResultBlock, look: ResultLook): Block {
  const content = filled(look.shown ?? block.content, look.toolName);
  const shown = content === block.content ? block : { ...block, content };
  return wireForm(shown) ?? shown;
}

/** What stands for a result without a visible character: the API takes no empty one. */
const noOutput = (toolName: string): string => `(${toolName} completed with no output)`;

export function isEmptyContent(content: ResultContent): boolean {
  return typeof content === "string" ? content.trim() === "" : content.every((part) => isBlankText(part));
}

function filled(content: ResultContent | undefined, toolName: string): ResultContent {
  if (content === undefined || isEmptyContent(content)) return noOutput(toolName);
  if (typeof content === "string") return content;
  const parts = content.filter((part) => !isBlankText(part)).map((part) => wirePart(part));
  return parts.length === content.length && parts.every((part, at) => part === content[at]) ? content : parts;
}

const isBlankText = (part: JsonObject): boolean => part["type"] === "text" && text(part, "text")?.trim() === "";

/** Images and documents of a result: a user's message takes them as blocks of their own. */
export const mediaOf = ({ content }: ToolResultBlock): Block[] =>
  typeof content === "object"
    ? content.filter((part) => isMediaType(part["type"])).map((part) => parseBlock(part))
    : [];

/** The rest of a result's blocks as text. */
export const textOf = (content: readonly JsonObject[]): string =>
  content
    .filter((part) => !isMediaType(part["type"]))
    .map((part) => text(part, "text") ?? JSON.stringify(part))
    .join("\n") || "(see below)";
