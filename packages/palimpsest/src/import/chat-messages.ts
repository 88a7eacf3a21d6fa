import { isArray, type Json, type JsonObject } from "../schema/json.ts";
import { type DraftLog, textBlocks, thinkingBlock } from "./draft-log.ts";
import { objectAt, objectsAt, textAt } from "./fields.ts";
import { mediaBlockOf } from "./media.ts";

/** Content of a chat-completions message: text, or parts. */
export function chatContent(content: Json | undefined): JsonObject[] {
  if (typeof content === "string") return textBlocks(content);
  if (!isArray(content)) return [];
  return content.flatMap((part) => {
    const url = textAt(objectAt(part, "image_url"), "url");
    const image = url === "" ? undefined : mediaBlockOf(url);
    return image === undefined ? textBlocks(textAt(part, "text")) : [image];
  });
}

/** As a result holds it: a string, or blocks where there is more than text. */
export function chatResult(content: Json | undefined): string | readonly JsonObject[] {
  if (typeof content === "string") return content;
  const blocks = chatContent(content);
  return blocks.every((block) => block["type"] === "text")
    ? blocks.map((block) => textAt(block, "text")).join("\n")
    : blocks;
}

/** Blocks of an assistant message: thinking, text, then its calls. */
export function chatReply(log: DraftLog, message: JsonObject): JsonObject[] {
  const signed = objectsAt(message, "thinking_blocks").map((block) =>
    thinkingBlock(textAt(block, "thinking"), textAt(block, "signature")),
  );
  const reasoning = textAt(message, "reasoning_content");
  const thinking = signed.length > 0 || reasoning === "" ? signed : [thinkingBlock(reasoning)];
  const calls = objectsAt(message, "tool_calls").map((call) => {
    const made = objectAt(call, "function");
    return log.call({ id: textAt(call, "id"), name: textAt(made, "name"), input: log.input(made["arguments"]) });
  });
  return [...thinking, ...chatContent(message["content"]), ...calls];
}
