import type { Block } from "../schema/block.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import { type JsonObject, text } from "../schema/json.ts";

const textBytesPerToken = 4;
const jsonBytesPerToken = 2;
/** An image or document, whatever its size: the provider scales images to about this. */
const mediaTokens = 2000;

/** Unpadded estimate of one block, by its bytes. */
export function estimateBlock(block: Block): Tokens {
  switch (block.type) {
    case "text":
      return ofText(block.text);
    case "thinking":
      return ofText(block.thinking);
    case "redacted_thinking":
      return ofText(block.data);
    case "tool_use":
      return tokens(ofText(block.name) + ofJson(block.input));
    case "tool_result":
      if (typeof block.content === "string") return ofText(block.content);
      return tokens((block.content ?? []).reduce((sum, part) => sum + ofPart(part), 0));
    case "image":
    case "document":
      return tokens(mediaTokens);
    default:
      return ofJson(block);
  }
}

function ofPart(part: JsonObject): Tokens {
  if (part["type"] === "image" || part["type"] === "document") return tokens(mediaTokens);
  const inner = part["type"] === "text" ? text(part, "text") : undefined;
  return inner === undefined ? ofJson(part) : ofText(inner);
}

const ofText = (value: string): Tokens => tokens(Math.ceil(utf8Length(value) / textBytesPerToken));
const ofJson = (value: object): Tokens => tokens(Math.ceil(utf8Length(JSON.stringify(value)) / jsonBytesPerToken));

/** Length in UTF-8 without encoding: this runs over everything that is ever counted. */
export function utf8Length(value: string): number {
  let length = value.length;
  for (let at = 0; at < value.length; at += 1) {
    const unit = value.charCodeAt(at);
    if (unit < 0x80) continue;
    // A surrogate pair is two units and four bytes: two more, counted one for each half.
    length += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return length;
}

/** Unpadded estimate of a whole view. */
export function estimateShown(shown: Iterable<readonly Block[]>): Tokens {
  let sum = 0;
  for (const blocks of shown) for (const block of blocks) sum += estimateBlock(block);
  return tokens(sum);
}
