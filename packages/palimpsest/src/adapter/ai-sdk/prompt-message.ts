import type { Block, Message as ContextMessage } from "../../schema/block.ts";
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

/** A part and the block by which the context knows it; undefined for one that only goes with its neighbour. */
export interface EncodedPart<Message, Part> {
  readonly block: Block | undefined;
  readonly part: Part | NewPart;
  /** The message that holds it. */
  readonly message: Message;
}

export interface EncodedMessage<Message, Part> {
  readonly role: "user" | "assistant" | "system";
  readonly parts: readonly EncodedPart<Message, Part>[];
}

/**
 * A message in blocks of the Messages API. Files and calls that the provider runs have no counterpart there and become
 * texts: the context carries them, and the part itself takes its place again before it is sent.
 */
export function encodeMessage<Message extends PromptMessage<Part>, Part extends PromptPart>(
  message: Message,
): EncodedMessage<Message, Part> {
  const { role, content }: PromptMessage<Part> = message;
  const parts: readonly (Part | NewPart)[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const encoded = parts.map((part) => ({ block: encodePart(part), part, message }));
  if (role === "assistant") return { role, parts: encoded };
  return { role: role === "system" ? "system" : "user", parts: encoded };
}

export const toMessage = ({
  role,
  parts,
}: EncodedMessage<unknown, unknown>): { readonly role: string; readonly content: readonly Block[] } => ({
  role,
  content: parts.flatMap(({ block }) => block ?? []),
});

export function encodePart(part: PromptPart): Block | undefined {
  const fields = readFields(part);
  switch (part.type) {
    case "text":
      return { type: "text", text: asText(fields["text"]) };
    case "reasoning":
      return encodeReasoning(fields);
    case "tool-call":
      return fields["providerExecuted"] === true ? carry(part) : encodeCall(fields);
    case "tool-result":
      return fields["providerExecuted"] === true ? carry(part) : encodeResult(fields);
    // Notes of a provider about its reply, and what does not come back in a prompt.
    case "custom":
    case "reasoning-file":
    case "source":
      return undefined;
    default:
      return carry(part);
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

function encodeResult(part: Fields): Block {
  const output = readFields(part["output"]);
  const isError = ["error-text", "error-json", "execution-denied"].includes(asText(output["type"]));
  return {
    type: "tool_result",
    tool_use_id: toolUseId(asText(part["toolCallId"])),
    content: outputText(output),
    ...(isError ? { is_error: true } : {}),
  };
}

function outputText(output: Fields): string {
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

type Fields = Readonly<Record<string, unknown>>;

export const readFields = (value: unknown): Fields => (isRecord(value) ? value : {});

export const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The content of a message or a result of the context as a text. */
export const plainText = (content: ContextMessage["content"] | string | readonly JsonObject[] | undefined): string =>
  typeof content === "string" ? content : listTexts(parseJson(JSON.stringify(content ?? [])));

const listTexts = (blocks: Json): string =>
  (isArray(blocks) ? blocks : [])
    .filter(isObject)
    .map((block) => textField(block, "text") ?? JSON.stringify(block))
    .join("\n");
