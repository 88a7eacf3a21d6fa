import type { JsonObject } from "palimpsest/internal/schema/json";
import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/request";
import type { WireTool } from "palimpsest/internal/schema/wire/tool";
import { elementsIn } from "./elements.ts";

/** What the actors read of a request. */
export const blocksOf = ({ content }: WireMessage): readonly WireBlock[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

export interface Heard {
  readonly text: string;
  /** Index of its message. */
  readonly at: number;
}

/** Texts of user messages in order, without what a client put between them by itself. */
export const userTexts = ({ messages }: MessagesRequest): readonly Heard[] =>
  messages.flatMap((message, at) => (message.role === "user" ? textsOf(message, at) : []));

/** The last text of the last user message that has one: what the request asks for. */
export function lastUserText({ messages }: MessagesRequest): string {
  for (const message of messages.toReversed()) {
    const last = message.role === "user" ? textsOf(message, 0).at(-1) : undefined;
    if (last !== undefined) return last.text;
  }
  return "";
}

export const assistantTexts = ({ messages }: MessagesRequest): readonly Heard[] =>
  messages.flatMap((message, at) => (message.role === "assistant" ? textsOf(message, at) : []));

/** The system prompt, and system messages inside the conversation. */
export function systemText({ system, messages }: MessagesRequest): string {
  const prompt = typeof system === "string" ? [system] : (system ?? []).map(({ text }) => text);
  const said = messages.flatMap((message) => (message.role === "system" ? blocksOf(message).flatMap(plainText) : []));
  return [...prompt, ...said].join("\n\n");
}

/** Every text of the conversation, results included. */
export const allTexts = ({ messages }: MessagesRequest): readonly string[] =>
  messages.flatMap((message) => blocksOf(message).flatMap(plainText));

/** Texts of the results in the newest message that holds any. */
export function newestResults({ messages }: MessagesRequest): readonly string[] {
  const newest = messages.findLast((message) => blocksOf(message).some(({ type }) => type === "tool_result"));
  if (newest === undefined) return [];
  return blocksOf(newest).flatMap((block) => (block.type === "tool_result" ? [resultText(block)] : []));
}

export interface HeardCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Index of the message that calls. */
  readonly at: number;
  readonly result?: { readonly text: string; readonly failed: boolean };
}

export function callsOf({ messages }: MessagesRequest): readonly HeardCall[] {
  const calls = new Map<string, HeardCall>();
  for (const [at, message] of messages.entries()) {
    for (const block of blocksOf(message)) {
      if (block.type === "tool_use") calls.set(block.id, { id: block.id, name: block.name, input: block.input, at });
      if (block.type !== "tool_result") continue;
      const call = calls.get(block.tool_use_id);
      const result = { text: resultText(block), failed: block.is_error === true };
      if (call !== undefined) calls.set(call.id, { ...call, result });
    }
  }
  return [...calls.values()];
}

export interface OfferedTool {
  readonly name: string;
  readonly schema: JsonObject;
}

export const offeredTools = ({ tools }: MessagesRequest): readonly OfferedTool[] => (tools ?? []).flatMap(offered);

function offered(tool: WireTool): OfferedTool[] {
  if (tool.name === undefined) return [];
  return [{ name: tool.name, schema: "input_schema" in tool ? schemaOf(tool.input_schema) : {} }];
}

const schemaOf = (schema: unknown): JsonObject => (isJsonObject(schema) ? schema : {});
const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type ResultBlock = Extract<WireBlock, { type: "tool_result" }>;

function resultText({ content }: ResultBlock): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function plainText(block: WireBlock): readonly string[] {
  if (block.type === "text") return [block.text];
  return block.type === "tool_result" ? [resultText(block)] : [];
}

function textsOf(message: WireMessage, at: number): readonly Heard[] {
  const texts = blocksOf(message).flatMap((block) => (block.type === "text" ? [withoutReminders(block.text)] : []));
  return texts.filter((text) => text !== "").map((text) => ({ text, at }));
}

/** Clients wrap what they add by themselves in such elements; nobody said it. */
const isClientsOwn = (name: string): boolean => /^(?:system-reminder|local-command-[a-z]+|command-[a-z]+)$/.test(name);

function withoutReminders(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (const { start, end } of elementsIn(text, isClientsOwn)) {
    kept.push(text.slice(from, start));
    from = end;
  }
  return [...kept, text.slice(from)].join("").trim();
}
