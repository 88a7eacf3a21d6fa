import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  isAIMessage,
  isToolMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { type Block, isMediaType, type Message, type ToolResultBlock } from "../../schema/block.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { textField } from "../../schema/json.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";
import type { PreparedRequest } from "../shared/adapter-context.ts";
import { listView, resultText, shownThinking, thinkingKey } from "../shared/shown-blocks.ts";
import { type EncodedMessage, encodeResultPart, listContent } from "./encode-message.ts";

/**
 * The request in LangChain's messages. A message that the context shows as it was is the caller's own object, with its id,
 * metadata and thinking; only what the context changed is written anew.
 */
export function writeMessages(
  { params, outgoing = listView(params) }: Pick<PreparedRequest<"anthropic">, "params" | "outgoing">,
  given: readonly EncodedMessage[],
): BaseMessage[] {
  const thinking = shownThinking(params.messages);
  return outgoing.flatMap((sent) => {
    const own = sent.kind === "given" ? given[sent.at] : sent.of === undefined ? undefined : given[sent.of];
    if (sent.kind === "made") return makeMessages(sent.message, own);
    return own === undefined ? [] : [withoutStaleThinking(own, thinking)];
  });
}

/** Thinking that may no longer be sent is left out of a copy: the caller's message stays as it is. */
function withoutStaleThinking({ message, content }: EncodedMessage, shown: ReadonlySet<string>): BaseMessage {
  const isStale = content.some((block) => {
    const key = thinkingKey(block);
    return key !== undefined && !shown.has(key);
  });
  if (!isStale || !isAIMessage(message) || typeof message.content === "string") return message;
  return copyReply(
    message,
    message.content.filter(({ type }) => type !== "thinking" && type !== "redacted_thinking"),
  );
}

const copyReply = (message: AIMessage, content: AIMessage["content"]): AIMessage =>
  new AIMessage({ ...pickFields(message), content });

/** What a message has besides its content. */
function pickFields(message: AIMessage) {
  const { id, name, additional_kwargs, response_metadata, tool_calls, invalid_tool_calls, usage_metadata } = message;
  return {
    additional_kwargs,
    response_metadata,
    ...(tool_calls === undefined ? {} : { tool_calls }),
    ...(invalid_tool_calls === undefined ? {} : { invalid_tool_calls }),
    ...(usage_metadata === undefined ? {} : { usage_metadata }),
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
  };
}

/** Each result is a message of its own. `own`: the message in whose place it is sent. */
function makeMessages({ role, content }: Message, own: EncodedMessage | undefined): readonly BaseMessage[] {
  const results = content.flatMap((block) => (block.type === "tool_result" ? [writeResult(block, own?.message)] : []));
  const others = content.filter(({ type }) => type !== "tool_result");
  if (others.length === 0) return results;
  return [
    ...results,
    role === "user" ? new HumanMessage({ content: listTexts(others) }) : writeReply(others, own?.message),
  ];
}

/** A result that the context cleared keeps everything but its content. */
function writeResult(block: ToolResultBlock, own: BaseMessage | undefined): BaseMessage {
  const original = own !== undefined && isToolMessage(own) ? own : undefined;
  // An empty result is shown with a note that it is empty.
  if (original !== undefined && original.text.trim() === "" && listContent(original).length === 0) return original;
  const { id, name, metadata, additional_kwargs, response_metadata } = original ?? {};
  const artifact: unknown = original?.artifact;
  return new ToolMessage({
    content: writeContent(block, original),
    tool_call_id: block.tool_use_id,
    status: block.is_error === true ? "error" : "success",
    ...(artifact === undefined ? {} : { artifact }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(additional_kwargs === undefined ? {} : { additional_kwargs }),
    ...(response_metadata === undefined ? {} : { response_metadata }),
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
  });
}

/** Pictures that are still shown stay the caller's. */
function writeContent(block: ToolResultBlock, original: ToolMessage | undefined): ToolMessage["content"] {
  const { content } = block;
  const own = original?.content;
  if (typeof content !== "object" || typeof own !== "object" || !content.some(({ type }) => isMediaType(type)))
    return resultText(block);
  const parts =
    original === undefined ? [] : listContent(original).map((part) => canonicalJson(encodeResultPart(part)));
  return content.map((part) => {
    const at = parts.indexOf(canonicalJson(part));
    return own[at] ?? { type: "text", text: textField(part, "text") ?? "[file]" };
  });
}

/** For what the context wrote itself, and for a reply that it shows less of. */
function writeReply(blocks: readonly Block[], own: BaseMessage | undefined): AIMessage {
  const calls = blocks.flatMap((block) =>
    block.type === "tool_use" ? [{ id: block.id, name: block.name, args: { ...block.input } }] : [],
  );
  const fields = own !== undefined && isAIMessage(own) ? pickFields(own) : {};
  return new AIMessage({ ...fields, content: listTexts(blocks), tool_calls: calls });
}

const listTexts = (blocks: readonly Block[]) =>
  blocks.flatMap((block) => {
    if (isThinking(block)) return [{ ...block }];
    if (isMediaType(block.type)) return [{ type: "text" as const, text: `[${block.type}]` }];
    return block.type === "text" ? [{ type: "text" as const, text: block.text }] : [];
  });
