import type { OutgoingMessage } from "../../context/sync/outgoing-list.ts";
import { type Block, parseBlock, type ToolResultBlock } from "../../schema/block.ts";
import { parseJson, textField } from "../../schema/json.ts";
import type { MessagesParams } from "../../schema/wire/messages-params.ts";

/** If the view does not follow the order of the framework's list. */
export const listView = ({ messages }: Pick<MessagesParams, "messages">): readonly OutgoingMessage[] =>
  messages.map(({ role, content }) => ({
    kind: "made",
    message: { role, content: content.map((block) => parseBlock(parseJson(JSON.stringify(block)))) },
  }));

/** The thinking in a request. The context leaves out what the model would refuse. */
export const shownThinking = (messages: MessagesParams["messages"]): ReadonlySet<string> =>
  new Set(messages.flatMap(({ content }) => content.flatMap((block) => thinkingKey(block) ?? [])));

/** Undefined for other blocks. */
export function thinkingKey(block: Block | MessagesParams["messages"][number]["content"][number]): string | undefined {
  if (block.type === "thinking") return block.signature === "" ? block.thinking : block.signature;
  return block.type === "redacted_thinking" ? block.data : undefined;
}

/** What a result says; a picture in it is named. */
export function resultText({ content = "" }: ToolResultBlock): string {
  if (typeof content === "string") return content;
  return content.map((part) => textField(part, "text") ?? `[${textField(part, "type") ?? "part"}]`).join("\n");
}
