import type { Block } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { field, isArray, isObject, type Json, type JsonObject, listField, textField } from "../../schema/json.ts";
import { readCallInput } from "../../model/call-input.ts";
import type { Provider } from "../provider-formats.ts";
import { contentBlocks, type ParseMessage, type SyncMessage, type SyncRole } from "./message-digester.ts";

/** How the messages of a provider's format are read: the opposite direction of `toProviderParams`. */
export const parseMessageByProvider: Readonly<Record<Provider, ParseMessage>> = {
  anthropic: (message) => [{ role: parseRole(message), content: contentBlocks(field(message, "content")) }],
  "openai-chat": parseChatMessage,
  "openai-responses": parseResponsesItem,
};

function parseRole(message: JsonObject): SyncRole {
  const role = textField(message, "role");
  if (role === "assistant") return "assistant";
  return role === "system" || role === "developer" ? "system" : "user";
}

function parseChatMessage(message: JsonObject): readonly SyncMessage[] {
  const content = field(message, "content");
  if (textField(message, "role") === "tool")
    return [{ role: "user", content: [resultBlock(textField(message, "tool_call_id"), chatContent(content))] }];
  const role = parseRole(message);
  const calls = listField(message, "tool_calls").filter(isObject).map(chatCall);
  return [{ role, content: [...chatContent(content), ...refusalText(message), ...calls] }];
}

const chatContent = (content: Json | undefined): readonly Block[] =>
  typeof content === "string" ? contentBlocks(content) : (isArray(content) ? content : []).flatMap(chatPart);

function chatPart(part: Json): readonly Block[] {
  if (!isObject(part)) return [];
  switch (textField(part, "type")) {
    case "image_url": {
      const image = field(part, "image_url");
      return isObject(image) ? mediaBlock("image", { source: mediaSource(textField(image, "url"), image) }) : [];
    }
    case "file": {
      const file = field(part, "file");
      return isObject(file) ? fileBlock(file) : [];
    }
    case "refusal":
      return refusalText(part);
    default:
      return contentBlocks([part]);
  }
}

const refusalText = (part: JsonObject): readonly Block[] => {
  const text = textField(part, "refusal");
  return text === undefined ? [] : [{ type: "text", text }];
};

function chatCall(call: JsonObject): Block {
  const called = field(call, "function");
  const custom = field(call, "custom");
  const { name, arguments: input } = isObject(called) ? called : { name: undefined, arguments: undefined };
  if (!isObject(called) && isObject(custom))
    return callBlock({
      id: textField(call, "id"),
      name: textField(custom, "name"),
      input: { input: field(custom, "input") ?? "" },
    });
  return callBlock({ id: textField(call, "id"), name: asText(name), input: parseInput(input) });
}

function parseResponsesItem(item: JsonObject): readonly SyncMessage[] {
  const id = textField(item, "call_id");
  switch (textField(item, "type")) {
    case "function_call":
      return assistant(callBlock({ id, name: textField(item, "name"), input: parseInput(field(item, "arguments")) }));
    case "custom_tool_call":
      return assistant(callBlock({ id, name: textField(item, "name"), input: { input: field(item, "input") ?? "" } }));
    case "function_call_output":
    case "custom_tool_call_output": {
      const output = field(item, "output");
      const content = isArray(output) ? output.flatMap(responsesPart) : contentBlocks(output);
      return [{ role: "user", content: [resultBlock(id, content)] }];
    }
    case "message":
    case undefined: {
      const content = field(item, "content");
      const blocks = typeof content === "string" ? contentBlocks(content) : partBlocks(content);
      return [{ role: parseRole(item), content: blocks }];
    }
    case "reasoning":
      return [];
    default:
      return assistant({ type: "unknown", was: item });
  }
}

const assistant = (...content: readonly Block[]): readonly SyncMessage[] => [{ role: "assistant", content }];

const partBlocks = (content: Json | undefined): readonly Block[] =>
  (isArray(content) ? content : []).flatMap(responsesPart);

function responsesPart(part: Json): readonly Block[] {
  if (!isObject(part)) return [];
  switch (textField(part, "type")) {
    case "input_text":
    case "output_text":
      return [{ type: "text", text: textField(part, "text") ?? "" }];
    case "refusal":
      return refusalText(part);
    case "input_image":
      return mediaBlock("image", { source: mediaSource(textField(part, "image_url"), part) });
    case "input_file":
      return fileBlock(part);
    default:
      return contentBlocks([part]);
  }
}

const fileBlock = (file: JsonObject): readonly Block[] => {
  const title = textField(file, "filename");
  const source = mediaSource(textField(file, "file_data") ?? textField(file, "file_url"), file);
  return mediaBlock("document", { source, fields: title === undefined ? {} : { title } });
};

const mediaBlock = (
  type: "image" | "document",
  { source, fields = {} }: { readonly source: JsonObject | undefined; readonly fields?: JsonObject },
): readonly Block[] => (source === undefined ? [] : contentBlocks([{ type, source, ...fields }]));

/** `url`: an address, or the data itself. Without it, `part` may name a file that the provider has. */
function mediaSource(url: string | undefined, part: JsonObject): JsonObject | undefined {
  const fileId = textField(part, "file_id");
  if (url === undefined) return fileId === undefined ? undefined : { type: "file", file_id: fileId };
  const { mediaType, data } = /^data:(?<mediaType>[^;,]*);base64,(?<data>.*)$/s.exec(url)?.groups ?? {};
  return data === undefined ? { type: "url", url } : { type: "base64", media_type: mediaType ?? "", data };
}

const callBlock = ({
  id = "",
  name = "",
  input,
}: {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly input: JsonObject;
}): Block => ({
  type: "tool_use",
  id: toolUseId(id),
  name,
  input,
});

function resultBlock(id = "", blocks: readonly Block[]): Block {
  const [only] = blocks;
  const content =
    blocks.length === 1 && only?.type === "text"
      ? only.text
      : blocks.flatMap((block) => (block.type === "unknown" ? asObject(block.was) : [{ ...block }]));
  return { type: "tool_result", tool_use_id: toolUseId(id), content };
}

const asObject = (value: Json): readonly JsonObject[] => (isObject(value) ? [value] : []);

const asText = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);

/** As a reply of the provider is read: arguments that are no object leave an empty input. */
function parseInput(value: Json | undefined): JsonObject {
  if (typeof value === "string") return value === "" ? {} : readCallInput(value).input;
  return isObject(value) ? value : {};
}
