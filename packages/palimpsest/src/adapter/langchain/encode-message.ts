import {
  type AIMessage,
  type BaseMessage,
  isAIMessage,
  isToolMessage,
  type ToolMessage,
} from "@langchain/core/messages";
import { type Block, parseBlock } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { isObject, type Json, parseJson, textField } from "../../schema/json.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";

/** A message of LangChain and the blocks by which the context knows it. */
export interface EncodedMessage {
  readonly role: "user" | "assistant" | "system";
  readonly content: readonly Block[];
  readonly message: BaseMessage;
}

/**
 * A message in blocks of the Messages API. Content of other kinds becomes a text: the context carries it, and the message
 * itself takes its place again before it is sent.
 */
export function encodeMessage(message: BaseMessage): EncodedMessage {
  if (isToolMessage(message)) return { role: "user", content: [encodeResult(message)], message };
  if (isAIMessage(message)) return { role: "assistant", content: encodeReply(message), message };
  const role = message.type === "system" || message.type === "developer" ? "system" : "user";
  return { role, content: listContent(message).map(encodeContent), message };
}

/** Calls are taken from `tool_calls`, which every provider fills. */
export function encodeReply(message: AIMessage): readonly Block[] {
  const content = listContent(message)
    .filter((part) => !(isObject(part) && callTypes.has(textField(part, "type") ?? "")))
    .map(encodeContent);
  const calls = (message.tool_calls ?? []).map(({ id = "", name, args }): Block => {
    const input = toJson(args);
    return { type: "tool_use", id: toolUseId(id), name, input: isObject(input) ? input : {} };
  });
  return [...content, ...calls];
}

const callTypes: ReadonlySet<string> = new Set(["tool_use", "tool_call", "function_call", "input_json_delta"]);

const encodeResult = (message: ToolMessage): Block => ({
  type: "tool_result",
  tool_use_id: toolUseId(message.tool_call_id),
  content: typeof message.content === "string" ? message.content : listContent(message).map(partText).join("\n"),
  ...(message.status === "error" ? { is_error: true } : {}),
});

const partText = (part: Json): string => (isObject(part) ? textField(part, "text") : undefined) ?? JSON.stringify(part);

function encodeContent(part: Json): Block {
  const block = parseBlock(part);
  if (block.type === "text") return { type: "text", text: block.text };
  return isThinking(block) ? block : { type: "text", text: JSON.stringify(part) };
}

function listContent({ content }: BaseMessage): readonly Json[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.map(toJson);
}

const toJson = (value: unknown): Json => parseJson(JSON.stringify(value) ?? "null");
