import type { Block, Message } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  textField,
  tryParseJson,
} from "../../schema/json.ts";

/**
 * A message of the AI SDK, as far as both of its forms agree: the prompt of a language model, and the messages of
 * `generateText` and `prepareStep`.
 */
export interface PromptMessage {
  readonly role: string;
  readonly content: string | readonly PromptPart[];
  readonly providerOptions?: ProviderOptions | undefined;
}

export interface PromptPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A part and the block by which the context knows it; undefined for one that only goes with its neighbour. */
export interface EncodedPart {
  readonly block: Block | undefined;
  readonly part: PromptPart;
  /** The message that holds it. */
  readonly message: PromptMessage;
}

export interface EncodedMessage {
  readonly role: "user" | "assistant" | "system";
  readonly parts: readonly EncodedPart[];
}

/**
 * A message in blocks of the Messages API. Files and calls that the provider runs have no counterpart there and become
 * texts: the context carries them, and the part itself takes its place again before it is sent.
 */
export function encodeMessage(message: PromptMessage): EncodedMessage {
  const { role, content } = message;
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const encoded = parts.map((part) => ({ block: encodePart(part), part, message }));
  if (role === "assistant") return { role, parts: encoded };
  return { role: role === "system" ? "system" : "user", parts: encoded };
}

export const toMessage = ({
  role,
  parts,
}: EncodedMessage): { readonly role: string; readonly content: readonly Block[] } => ({
  role,
  content: parts.flatMap(({ block }) => block ?? []),
});

export function encodePart(part: PromptPart): Block | undefined {
  switch (part.type) {
    case "text":
      return { type: "text", text: asText(part["text"]) };
    case "reasoning":
      return encodeReasoning(part);
    case "tool-call":
      return part["providerExecuted"] === true ? carry(part) : encodeCall(part);
    case "tool-result":
      return part["providerExecuted"] === true ? carry(part) : encodeResult(part);
    // Notes of a provider about its reply, and what does not come back in a prompt.
    case "custom":
    case "reasoning-file":
    case "source":
      return undefined;
    default:
      return carry(part);
  }
}

const encodeCall = (part: PromptPart): Block => ({
  type: "tool_use",
  id: toolUseId(asText(part["toolCallId"])),
  name: asText(part["toolName"]),
  input: asInput(part["input"]),
});

/** Only Anthropic's thinking is bound to what precedes it, and the context decides whether it may still be sent. */
function encodeReasoning(part: PromptPart): Block | undefined {
  const { signature, redactedData } = optionsFor(part, "anthropic");
  if (typeof redactedData === "string") return { type: "redacted_thinking", data: redactedData };
  return typeof signature === "string" ? { type: "thinking", thinking: asText(part["text"]), signature } : undefined;
}

export const optionsFor = (part: PromptPart, provider: string): Readonly<Record<string, unknown>> => {
  for (const key of ["providerOptions", "providerMetadata"]) {
    const options = part[key];
    if (!isRecord(options)) continue;
    const own = options[provider];
    if (isRecord(own)) return own;
  }
  return {};
};

function encodeResult(part: PromptPart): Block {
  const output = isRecord(part["output"]) ? part["output"] : {};
  const isError = ["error-text", "error-json", "execution-denied"].includes(asText(output["type"]));
  return {
    type: "tool_result",
    tool_use_id: toolUseId(asText(part["toolCallId"])),
    content: outputText(output),
    ...(isError ? { is_error: true } : {}),
  };
}

function outputText(output: Readonly<Record<string, unknown>>): string {
  const { type, value, reason } = output;
  if (type === "execution-denied") return typeof reason === "string" ? reason : "The user did not allow this call.";
  if (typeof value === "string") return value;
  if (type !== "content" || !Array.isArray(value)) return JSON.stringify(toJson(value));
  return value
    .map((item: unknown) =>
      isRecord(item) && item["type"] === "text" ? asText(item["text"]) : JSON.stringify(toJson(item)),
    )
    .join("\n");
}

const carry = (part: PromptPart): Block => ({ type: "text", text: JSON.stringify(toJson(part)) });

/** Bytes as text, which JSON can hold. */
const toJson = (value: unknown): Json =>
  parseJson(
    JSON.stringify(value, (_key, inner: unknown) =>
      inner instanceof Uint8Array ? Buffer.from(inner).toString("base64") : inner,
    ) ?? "null",
  );

/** In a reply the input of a call is its JSON. */
function asInput(value: unknown): JsonObject {
  const json = typeof value === "string" ? tryParseJson(value) : toJson(value);
  return isObject(json) ? json : {};
}

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The content of a message or a result of the context as a text. */
export const plainText = (content: Message["content"] | string | readonly JsonObject[] | undefined): string =>
  typeof content === "string" ? content : listTexts(parseJson(JSON.stringify(content ?? [])));

const listTexts = (blocks: Json): string =>
  (isArray(blocks) ? blocks : [])
    .filter(isObject)
    .map((block) => textField(block, "text") ?? JSON.stringify(block))
    .join("\n");
