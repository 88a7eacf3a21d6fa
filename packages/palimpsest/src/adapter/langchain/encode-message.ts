import {
  type AIMessage,
  type BaseMessage,
  isAIMessage,
  isToolMessage,
  type ToolMessage,
} from "@langchain/core/messages";
import { type Block, isMediaType, parseBlock } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { field, isObject, type Json, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import { isThinking } from "../../transcript/to-wire-block.ts";
import { encodeMedia, type MediaBlock, toBase64 } from "../shared/encode-media.ts";

/** A message of LangChain and the blocks by which the context knows it. */
export interface EncodedMessage {
  readonly role: "user" | "assistant" | "system";
  readonly content: readonly Block[];
  readonly message: BaseMessage;
}

/**
 * A message in blocks of the Messages API. Content of other kinds becomes a text: the context carries it, and the message
 * itself is sent.
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
    .filter((part) => !callTypes.has(textField(part, "type") ?? ""))
    .map(encodeContent)
    // Only the user shows pictures.
    .map((block): Block => (isMediaType(block.type) ? { type: "text", text: `[${block.type}]` } : block));
  const calls = (message.tool_calls ?? []).map(({ id = "", name, args }): Block => {
    const input = toJson(args);
    return { type: "tool_use", id: toolUseId(id), name, input: isObject(input) ? input : {} };
  });
  return [...content, ...calls];
}

const callTypes: ReadonlySet<string> = new Set(["tool_use", "tool_call", "function_call", "input_json_delta"]);

function encodeResult(message: ToolMessage): Block {
  const parts = listContent(message).map(encodeResultPart);
  const texts = parts.flatMap((part) => (part.type === "text" ? [textField(part, "text") ?? ""] : []));
  return {
    type: "tool_result",
    tool_use_id: toolUseId(message.tool_call_id),
    content: texts.length === parts.length ? texts.join("\n") : parts,
    ...(message.status === "error" ? { is_error: true } : {}),
  };
}

/** A part of the content of a result. */
export function encodeResultPart(part: JsonObject): JsonObject {
  const text = textField(part, "text");
  return text === undefined
    ? (readMedia(part) ?? { type: "text", text: JSON.stringify(part) })
    : { type: "text", text };
}

function encodeContent(part: JsonObject): Block {
  const block = parseBlock(part);
  if (block.type === "text") return { type: "text", text: block.text };
  if (isThinking(block)) return block;
  const media = readMedia(part);
  return media === undefined ? { type: "text", text: JSON.stringify(part) } : parseBlock(media);
}

/** The forms of pictures and files: LangChain's own, old and new, and those of the providers. Undefined: it is neither. */
function readMedia(part: JsonObject): MediaBlock | undefined {
  const type = textField(part, "type") ?? "";
  const source = field(part, "source");
  const [image, file] = [field(part, "image_url"), field(part, "file")];
  const isMedia =
    isMediaType(type) || ["image_url", "input_image", "file", "input_file", "audio", "video"].includes(type);
  if (!isMedia) return undefined;
  const fields = [source, image, file, part].filter((one) => one !== undefined && isObject(one));
  const find = (...keys: readonly string[]): string | undefined => {
    for (const one of fields) for (const key of keys) if (textField(one, key) !== undefined) return textField(one, key);
    return undefined;
  };
  const url = typeof image === "string" ? image : find("url", "file_url");
  const inline = find("data", "file_data");
  const isDataUrl = inline?.startsWith("data:") === true;
  return encodeMedia({
    mediaType: find("media_type", "mime_type", "mimeType") ?? (type.includes("image") ? "image" : undefined),
    data: isDataUrl ? undefined : inline,
    url: isDataUrl ? inline : (url ?? find("file_id", "fileId", "id")),
    name: find("title", "filename", "name"),
  });
}

export function listContent({ content }: BaseMessage): readonly JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return content.map(toJson).filter(isObject);
}

/** Bytes as base64, which JSON can hold. */
const toJson = (value: unknown): Json =>
  parseJson(
    JSON.stringify(value, (_key, inner: unknown) => (inner instanceof Uint8Array ? toBase64(inner) : inner)) ?? "null",
  );
