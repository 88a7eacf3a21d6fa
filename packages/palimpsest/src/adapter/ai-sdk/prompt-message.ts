import type { Block, TextBlock } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import { isObject, type Json, type JsonObject, parseJson, tryParseJson } from "../../schema/json.ts";
import { isEmptyText, isThinking } from "../../transcript/to-wire-block.ts";
import { encodeMedia, type Media, type MediaBlock, toBase64 } from "../shared/encode-media.ts";
import { dataCharsMin } from "../shared/limits.ts";

/**
 * A message of the AI SDK, as far as its forms agree: the prompt of a language model in each version, and the messages of
 * `generateText` and `prepareStep`.
 */
export interface PromptMessage<Part extends PromptPart> {
  readonly role: PromptRole;
  readonly content: string | readonly Part[];
}

export type PromptRole = "system" | "user" | "assistant" | "tool";

export interface PromptPart {
  readonly type: string;
}

/** The parts of a framework's message, whatever its role. */
export type PartOf<Message extends PromptMessage<PromptPart>> = Exclude<Message["content"], string>[number];

/** What we write ourselves, in a form that every version has. */
export type NewPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "reasoning";
      readonly text: string;
      readonly providerOptions: { readonly anthropic: { readonly signature: string } };
    }
  | {
      readonly type: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: JsonObject;
    }
  | {
      readonly type: "tool-result";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly output: { readonly type: "text" | "error-text"; readonly value: string };
    };

/** A part of a message and the block by which the context knows it; undefined if it only goes with the part after it. */
export interface EncodedPart<Part> {
  readonly block: Block | undefined;
  readonly part: Part | NewPart;
}

export interface EncodedMessage<Message, Part> {
  readonly message: Message;
  readonly parts: readonly EncodedPart<Part>[];
}

/**
 * A message in blocks of the Messages API. What has no counterpart there, such as a call that the provider runs, becomes a
 * text: the context carries it, and the part itself is sent.
 */
export function encodeMessage<Message extends PromptMessage<Part>, Part extends PromptPart>(
  message: Message,
): EncodedMessage<Message, Part> {
  const { role, content }: PromptMessage<Part> = message;
  const parts: readonly (Part | NewPart)[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return { message, parts: parts.map((part) => ({ block: encodePart(part, role), part })) };
}

export const toMessage = ({
  message,
  parts,
}: EncodedMessage<{ readonly role: PromptRole }, unknown>): {
  readonly role: string;
  readonly content: readonly Block[];
} => ({
  role: message.role === "tool" ? "user" : message.role,
  content: parts.flatMap(({ block }) => block ?? []),
});

/** Does the context follow the block through its edits? Thinking goes with what follows it. */
export const isTracked = (block: Block | undefined): block is Block =>
  block !== undefined && !isThinking(block) && !isEmptyText(block);

export function encodePart(part: PromptPart, role: PromptRole): Block | undefined {
  const fields = readFields(part);
  switch (part.type) {
    case "text":
      return { type: "text", text: asText(fields["text"]) };
    case "reasoning":
      return encodeReasoning(fields);
    case "tool-call":
      return fields["providerExecuted"] === true ? carryCall(fields) : encodeCall(fields);
    // In a reply there are only results of the provider's own tools.
    case "tool-result":
      return role === "assistant" ? carryResult(fields) : encodeResult(fields);
    case "image":
    case "file":
      return encodeFile(fields, role);
    case "tool-approval-response":
      return { type: "text", text: `[${fields["approved"] === true ? "approved" : "not approved"}]` };
    // Notes of a provider about its reply, and what does not come back in a prompt.
    default:
      return undefined;
  }
}

const encodeCall = (part: Fields): Block => ({
  type: "tool_use",
  id: toolUseId(asText(part["toolCallId"])),
  name: asText(part["toolName"]),
  input: asInput(part["input"]),
});

/** Only Anthropic's thinking is bound to what precedes it, and the context decides whether it may still be sent. */
function encodeReasoning(part: Fields): Block | undefined {
  const { signature, redactedData } = optionsFor(part, "anthropic");
  if (typeof redactedData === "string") return { type: "redacted_thinking", data: redactedData };
  return typeof signature === "string" ? { type: "thinking", thinking: asText(part["text"]), signature } : undefined;
}

export const optionsFor = (part: Fields, provider: string): Fields => {
  for (const key of ["providerOptions", "providerMetadata"]) {
    const options = part[key];
    if (!isRecord(options)) continue;
    const own = options[provider];
    if (isRecord(own)) return own;
  }
  return {};
};

/** Pictures are only in what the user says. */
function encodeFile(part: Fields, role: PromptRole): Block {
  const media = readMedia(part);
  if (typeof media === "string") return { type: "text", text: media };
  if (role === "user") return encodeMedia(media);
  return { type: "text", text: `[a file, ${media.data?.length ?? 0} characters in base64]` };
}

/** The forms of a file in each version; a text if the file is one. */
function readMedia(part: Fields): Media | string {
  const { type, data, image, url, mediaType, filename } = part;
  const given: unknown = data ?? image ?? url;
  const inner = isRecord(given) && !(given instanceof Uint8Array) && !(given instanceof URL) ? given : undefined;
  const source = inner === undefined ? given : (inner["data"] ?? inner["url"] ?? inner["reference"]);
  if (typeof inner?.["text"] === "string") return inner["text"];
  const named = {
    mediaType: typeof mediaType === "string" ? mediaType : asText(type).startsWith("image") ? "image" : undefined,
    name: typeof filename === "string" ? filename : undefined,
  };
  if (source instanceof Uint8Array) return { ...named, data: toBase64(source) };
  if (source instanceof ArrayBuffer) return { ...named, data: toBase64(new Uint8Array(source)) };
  if (source instanceof URL) return { ...named, url: source.href };
  if (typeof source !== "string") return { ...named, url: JSON.stringify(toJson(source)) };
  return /^[a-z]+:/.test(source) ? { ...named, url: source } : { ...named, data: source };
}

function encodeResult(part: Fields): Block {
  const output = readFields(part["output"]);
  const isError = ["error-text", "error-json", "execution-denied"].includes(asText(output["type"]));
  return {
    type: "tool_result",
    tool_use_id: toolUseId(asText(part["toolCallId"])),
    content: encodeOutput(output),
    ...(isError ? { is_error: true } : {}),
  };
}

function encodeOutput({ type, value, reason }: Fields): string | readonly MediaBlock[] {
  if (type === "execution-denied") return typeof reason === "string" ? reason : "The user did not allow this call.";
  if (typeof value === "string") return value;
  if (type !== "content" || !Array.isArray(value)) return JSON.stringify(toJson(value));
  const blocks = value.map(encodeOutputPart);
  const texts = blocks.flatMap((block) => (isText(block) ? [block.text] : []));
  return texts.length === blocks.length ? texts.join("\n") : blocks;
}

/** A part of the content of a result. */
export function encodeOutputPart(item: unknown): MediaBlock {
  const fields = readFields(item);
  if (fields["type"] === "text") return { type: "text", text: asText(fields["text"]) };
  const media = readMedia(fields);
  const isMedia = "data" in fields || "url" in fields;
  if (!isMedia || typeof media === "string")
    return { type: "text", text: typeof media === "string" ? media : JSON.stringify(toJson(item)) };
  return encodeMedia(media);
}

const isText = (block: MediaBlock): block is TextBlock => block.type === "text";

/** The same text for a part of a reply and for the part of a prompt that it becomes. */
const carryCall = ({ toolName, input }: Fields): Block => ({
  type: "text",
  text: `[${asText(toolName)}, run by the provider] ${shortText(asInput(input))}`,
});

function carryResult({ toolName, output, result }: Fields): Block {
  const fields = readFields(output);
  const value = output === undefined ? toJson(result) : toJson(fields["value"] ?? fields["reason"]);
  return { type: "text", text: `[${asText(toolName)}, its result] ${shortText(value)}` };
}

/** Pictures and sealed contents are not counted as texts. */
const shortText = (value: Json): string => canonicalJson(withoutData(value));

function withoutData(value: Json): Json {
  if (typeof value === "string")
    return value.length >= dataCharsMin && !/[\s{}<>"]/.test(value) ? `[${value.length} characters]` : value;
  if (Array.isArray(value)) return value.map((inner: Json) => withoutData(inner));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutData(inner)]));
}

const toJson = (value: unknown): Json => parseJson(JSON.stringify(value) ?? "null");

/** In a reply the input of a call is its JSON. */
function asInput(value: unknown): JsonObject {
  const json = typeof value === "string" ? tryParseJson(value) : toJson(value);
  return isObject(json) ? json : {};
}

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

type Fields = Readonly<Record<string, unknown>>;

export const readFields = (value: unknown): Fields => (isRecord(value) ? value : {});

export const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
