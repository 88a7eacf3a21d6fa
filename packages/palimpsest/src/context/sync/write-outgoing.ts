import { chatRequest } from "../../model/openai/chat-request.ts";
import { responsesRequest } from "../../model/openai/responses-request.ts";
import { type Message, parseBlock } from "../../schema/block.ts";
import { field, isArray, isObject, type Json, type JsonObject, listField } from "../../schema/json.ts";
import { cacheControlFor } from "../../cache/request-serializer.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";
import { type Provider, toJsonObject } from "../provider-formats.ts";
import type { OutgoingMark, OutgoingMessage } from "./outgoing-list.ts";

/** A message of a request in its provider's format. */
export interface WrittenMessage {
  readonly value: JsonObject;
  /** The index of the caller's message, if it is sent as it is. */
  readonly given: number | undefined;
  readonly marks: readonly OutgoingMark[];
}

interface WriteInput {
  readonly outgoing: readonly OutgoingMessage[];
  /** The caller's message at an index of its list. */
  readonly valueAt: (at: number) => JsonObject | undefined;
  /** What was written for the lists before: messages that are the same objects are not written again. */
  readonly written?: WrittenMessages | undefined;
}

/** By message: what the context made, and the caller's message that it replaces. */
export type WrittenMessages = WeakMap<
  OutgoingMessage,
  { readonly instead: JsonObject | undefined; readonly values: readonly JsonObject[] }
>;

/** A request in its provider's format: the caller's own messages, and what the context made. */
export function writeOutgoing(
  provider: Provider,
  { outgoing, valueAt, written: known }: WriteInput,
): readonly WrittenMessage[] {
  const written: WrittenMessage[] = [];
  for (const [at, message] of outgoing.entries()) {
    const { marks = [] } = message;
    if (message.kind === "given") {
      const value = valueAt(message.at);
      if (value !== undefined) written.push({ value, given: message.at, marks });
      continue;
    }
    const { of } = message;
    const after = outgoing[at + 1];
    // What replaces one message may be several: its fields and marks belong to the last of them.
    const isLast = after?.kind !== "made" || after.of !== of;
    const instead = of !== undefined && isLast ? valueAt(of) : undefined;
    let values = known?.get(message);
    if (values === undefined || values.instead !== instead) {
      values = { instead, values: writeMessage(provider, { message: message.message, instead }) };
      known?.set(message, values);
    }
    for (const value of values.values) written.push({ value, given: undefined, marks });
  }
  return written;
}

/** A message that the context made; for OpenAI's APIs it may become several. `instead`: the caller's that it replaces. */
function writeMessage(
  provider: Provider,
  { message, instead }: { readonly message: Message; readonly instead: JsonObject | undefined },
): readonly JsonObject[] {
  switch (provider) {
    case "anthropic":
      return [withMarkOf(toJsonObject(message), instead)];
    case "openai-chat":
      return replaceResult(message, { instead, at: "content" }) ?? chatMessages(message);
    case "openai-responses":
      return replaceResult(message, { instead, at: "output" }) ?? responsesItems(message);
  }
}

/** A result keeps the form that the caller gave it, such as that of a custom tool. */
function replaceResult(
  { content }: Message,
  { instead, at }: { readonly instead: JsonObject | undefined; readonly at: "content" | "output" },
): readonly JsonObject[] | undefined {
  const [block, ...others] = content;
  if (instead === undefined || others.length > 0 || block?.type !== "tool_result") return undefined;
  if (field(instead, at) === undefined || typeof block.content !== "string") return undefined;
  return [{ ...instead, [at]: block.content }];
}

const chatMessages = ({ role, content }: Message): readonly JsonObject[] =>
  listField(
    chatRequest(toJsonObject({ messages: [{ role, content }] }), { outputLimit: "max_completion_tokens" }),
    "messages",
  ).filter(isObject);

const responsesItems = (message: Message): readonly JsonObject[] =>
  listField(responsesRequest({ messages: chatMessages(message) }), "input").filter(isObject);

/** If the caller marked the message for the cache, the last block of what replaces it has the mark. */
function withMarkOf(message: JsonObject, instead: JsonObject | undefined): JsonObject {
  const marked = instead === undefined ? undefined : listField(instead, "content").filter(isObject).find(hasMark);
  const mark = marked === undefined ? undefined : field(marked, "cache_control");
  const content = listField(message, "content");
  const at = content.findLastIndex((block) => !isThinking(parseBlock(block)));
  if (mark === undefined || at === -1) return message;
  return {
    ...message,
    content: content.map((block, index) =>
      index === at && isObject(block) ? { ...block, cache_control: mark } : block,
    ),
  };
}

const hasMark = (block: JsonObject): boolean => isObject(field(block, "cache_control"));

/** A message of the Messages API with these cache marks in place of its own. It is the same object if it has none. */
export function replaceMarks(message: JsonObject, marks: readonly OutgoingMark[]): JsonObject {
  const content = field(message, "content");
  if (marks.length === 0 && (!isArray(content) || !content.some(holdsMark))) return message;
  const blocks: readonly Json[] = isArray(content) ? content : [{ type: "text", text: content ?? "" }];
  let nth = -1;
  return {
    ...message,
    content: blocks.map((block) => {
      if (!isObject(block)) return block;
      const parsed = parseBlock(block);
      if (!isThinking(parsed) && !isEmptyText(parsed)) nth += 1;
      const mark = isThinking(parsed) || isEmptyText(parsed) ? undefined : marks.find((one) => one.block === nth);
      const plain = withoutMarks(block);
      return mark === undefined ? plain : { ...plain, cache_control: cacheControlFor(mark.lifetime) };
    }),
  };
}

const holdsMark = (block: Json): boolean =>
  isObject(block) && ("cache_control" in block || listField(block, "content").some(holdsMark));

/** Also inside a result, but not in the input of a call. */
function withoutMarks(block: JsonObject): JsonObject {
  if (!holdsMark(block)) return block;
  const { cache_control: _mark, ...others } = block;
  const content = field(others, "content");
  if (!isArray(content)) return others;
  return { ...others, content: content.map((part) => (isObject(part) ? withoutMarks(part) : part)) };
}
