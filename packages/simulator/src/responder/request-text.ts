import { type JsonObject, field, isObject } from "palimpsest/internal/schema/json";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { MessagesRequest, WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { WireTool } from "palimpsest/internal/schema/wire/wire-tool";

export const messageBlocks = ({ content }: WireMessage): readonly WireBlock[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

interface PlacedText {
  readonly text: string;
  /** Index of its message. */
  readonly at: number;
}

/** Texts of user messages in order, without what a client inserted by itself. */
export const userTexts = ({ messages }: MessagesRequest): readonly PlacedText[] =>
  messages.flatMap((message, at) => (message.role === "user" ? messageTexts(message, at) : []));

/** The last text of the last user message that has one: what the request asks for. */
export function lastUserText({ messages }: MessagesRequest): string {
  for (const message of messages.toReversed()) {
    const last = message.role === "user" ? messageTexts(message, 0).at(-1) : undefined;
    if (last !== undefined) return last.text;
  }
  return "";
}

export const assistantTexts = ({ messages }: MessagesRequest): readonly PlacedText[] =>
  messages.flatMap((message, at) => (message.role === "assistant" ? messageTexts(message, at) : []));

/** The system prompt, and system messages inside the conversation. */
export function systemText({ system, messages }: MessagesRequest): string {
  const prompt = typeof system === "string" ? [system] : (system ?? []).map(({ text }) => text);
  const said = messages.flatMap((message) =>
    message.role === "system" ? messageBlocks(message).flatMap(plainText) : [],
  );
  return [...prompt, ...said].join("\n\n");
}

/** Every text of the conversation, results included. */
export const allTexts = ({ messages }: MessagesRequest): readonly string[] =>
  messages.flatMap((message) => messageBlocks(message).flatMap(plainText));

/** Texts of the results in the newest message that holds any. */
export function newestResults({ messages }: MessagesRequest): readonly string[] {
  const newest = messages.findLast((message) => messageBlocks(message).some(({ type }) => type === "tool_result"));
  if (newest === undefined) return [];
  return messageBlocks(newest).flatMap((block) => (block.type === "tool_result" ? [resultText(block)] : []));
}

export interface ToolCallRecord {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Index of the message that calls. */
  readonly at: number;
  readonly result?: { readonly text: string; readonly failed: boolean };
}

export function collectToolCalls({ messages }: MessagesRequest): readonly ToolCallRecord[] {
  const calls = new Map<string, ToolCallRecord>();
  for (const [at, message] of messages.entries()) {
    for (const block of messageBlocks(message)) {
      if (block.type === "tool_use") calls.set(block.id, { id: block.id, name: block.name, input: block.input, at });
      if (block.type !== "tool_result") continue;
      const call = calls.get(block.tool_use_id);
      const result = { text: resultText(block), failed: block.is_error === true };
      if (call !== undefined) calls.set(call.id, { ...call, result });
    }
  }
  return [...calls.values()];
}

export interface ToolSpec {
  readonly name: string;
  readonly schema: JsonObject;
}

export const listTools = ({ tools }: MessagesRequest): readonly ToolSpec[] => (tools ?? []).flatMap(toToolSpec);

function toToolSpec(tool: WireTool): ToolSpec[] {
  if (tool.name === undefined) return [];
  return [{ name: tool.name, schema: "input_schema" in tool ? asSchema(tool.input_schema) : {} }];
}

const asSchema = (schema: unknown): JsonObject => (isJsonObject(schema) ? schema : {});
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

function messageTexts(message: WireMessage, at: number): readonly PlacedText[] {
  const texts = messageBlocks(message).flatMap((block) =>
    block.type === "text" ? [withoutReminders(block.text)] : [],
  );
  return texts.filter((text) => text !== "").map((text) => ({ text, at }));
}

/** Clients wrap what they insert by themselves in such elements; the user did not write it. */
const isClientElement = (name: string): boolean =>
  /^(?:system-reminder|local-command-[a-z]+|command-[a-z]+)$/.test(name);

function withoutReminders(text: string): string {
  const kept: string[] = [];
  let from = 0;
  for (const { start, end } of findElements(text, isClientElement)) {
    kept.push(text.slice(from, start));
    from = end;
  }
  return [...kept, text.slice(from)].join("").trim();
}

/** Tools that change files have many names, and so have their fields: the schema says which. */
export const findEditTool = (request: MessagesRequest): ToolSpec | undefined =>
  listTools(request).find(({ name }) => /edit|str_replace/i.test(name) && !/notebook|todo/i.test(name));

export const findWriteTool = (request: MessagesRequest): ToolSpec | undefined =>
  listTools(request).find(({ name }) => /write|create/i.test(name) && !/todo|task/i.test(name));

export const editInput = (
  { schema }: ToolSpec,
  { path, before, after }: { readonly path: string; readonly before: string; readonly after: string },
): JsonObject => ({
  [propertyName(schema, ["file_path", "path", "filePath", "file"])]: path,
  [propertyName(schema, ["old_string", "old_str", "oldText", "oldString", "old"])]: before,
  [propertyName(schema, ["new_string", "new_str", "newText", "newString", "new"])]: after,
});

export const writeInput = ({ schema }: ToolSpec, { path, content }: { path: string; content: string }): JsonObject => ({
  [propertyName(schema, ["file_path", "path", "filePath", "file"])]: path,
  [propertyName(schema, ["content", "file_text", "contents", "text"])]: content,
});

/** The first of the usual names if the schema has none of them. */
const propertyName = (schema: JsonObject, names: readonly [string, ...string[]]): string =>
  names.find((name) => hasProperty(schema, name)) ?? names[0];

export function hasProperty(schema: JsonObject, name: string): boolean {
  const properties = field(schema, "properties");
  return isObject(properties) && Object.hasOwn(properties, name);
}

/** `<name …>inside</name>` in a text. */
interface TextElement {
  /** Start of the opening tag, and end of the closing tag. */
  readonly start: number;
  readonly end: number;
  readonly inside: string;
}

/**
 * The elements with the wanted names (in lower case), first to last. A nested element is not listed by itself, and an
 * unclosed one is not an element. Takes time in proportion to the text, whatever is in it.
 */
export function findElements(text: string, isWanted: (name: string) => boolean): readonly TextElement[] {
  const tags = findTags(text).filter(({ name }) => isWanted(name));
  const closingByName = new Map<string, Tag>();
  const found: TextElement[] = [];
  for (const tag of tags.toReversed()) {
    const closing = closingByName.get(tag.name);
    if (tag.kind === "closing") closingByName.set(tag.name, tag);
    else if (closing !== undefined)
      found.push({ start: tag.start, end: closing.end, inside: text.slice(tag.end, closing.start) });
  }
  const outermost: TextElement[] = [];
  for (const element of found.toReversed()) if (element.start >= (outermost.at(-1)?.end ?? 0)) outermost.push(element);
  return outermost;
}

interface Tag {
  readonly kind: "opening" | "closing";
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const findTags = (text: string): readonly Tag[] =>
  [...text.matchAll(/<[^<>]*>/g)].flatMap(({ 0: whole, index }) => {
    const [, slash, name] = /^<(\/?)([\w-]+)/.exec(whole) ?? [];
    if (name === undefined) return [];
    const kind = slash === "/" ? "closing" : "opening";
    return [{ kind, name: name.toLowerCase(), start: index, end: index + whole.length }];
  });
