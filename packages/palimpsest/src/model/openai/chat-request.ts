import { type Block, parseBlock, compactionBlockText } from "../../schema/block.ts";
import { field, isArray, isObject, type Json, type JsonObject, listField, textField } from "../../schema/json.ts";
import type { OutputLimitField } from "./output-limit-fields.ts";

/**
 * Translates a request of the Messages API into one for chat completions. The same request always yields the same bytes,
 * and a longer conversation only appends to the list, because providers cache by prefix. Thinking, server tools and cache
 * marks do not exist there and are left out.
 */
export function chatRequest(
  request: JsonObject,
  { outputLimit }: { readonly outputLimit: OutputLimitField },
): JsonObject {
  const tools = listField(request, "tools").filter(isObject).filter(isClientTool);
  const stop = listField(request, "stop_sequences");
  return {
    model: field(request, "model") ?? "",
    messages: [...systemMessages(field(request, "system")), ...listField(request, "messages").flatMap(chatMessages)],
    ...(tools.length === 0 ? {} : { tools: tools.map(chatTool), ...toolChoice(field(request, "tool_choice")) }),
    ...copyField(request, "max_tokens", outputLimit),
    ...copyField(request, "temperature", "temperature"),
    ...copyField(request, "top_p", "top_p"),
    ...(stop.length === 0 ? {} : { stop }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

const copyField = (request: JsonObject, from: string, to: string): JsonObject => {
  const value = field(request, from);
  return value === undefined || value === null ? {} : { [to]: value };
};

/** Tools that Anthropic's servers run have other types. */
const isClientTool = (tool: JsonObject): boolean => [undefined, "custom"].includes(textField(tool, "type"));

const chatTool = (tool: JsonObject): JsonObject => ({
  type: "function",
  function: {
    name: field(tool, "name") ?? "",
    ...copyField(tool, "description", "description"),
    parameters: field(tool, "input_schema") ?? { type: "object" },
  },
});

function toolChoice(choice: Json | undefined): JsonObject {
  if (!isObject(choice)) return {};
  const parallel: JsonObject =
    field(choice, "disable_parallel_tool_use") === true ? { parallel_tool_calls: false } : {};
  switch (textField(choice, "type")) {
    case "any":
      return { tool_choice: "required", ...parallel };
    case "none":
      return { tool_choice: "none" };
    case "tool":
      return { tool_choice: { type: "function", function: { name: field(choice, "name") ?? "" } }, ...parallel };
    default:
      return parallel;
  }
}

function systemMessages(system: Json | undefined): readonly JsonObject[] {
  const content = typeof system === "string" ? system : joinText(parseBlocks(system));
  return content === "" ? [] : [{ role: "system", content }];
}

function chatMessages(message: Json): readonly JsonObject[] {
  if (!isObject(message)) return [];
  const blocks = parseBlocks(field(message, "content"));
  switch (textField(message, "role")) {
    case "assistant":
      return assistantMessages(blocks);
    case "system":
      return systemMessages(joinText(blocks));
    default:
      return userMessages(blocks);
  }
}

function assistantMessages(blocks: readonly Block[]): readonly JsonObject[] {
  const content = joinText(blocks);
  const calls = blocks.flatMap((block) =>
    block.type === "tool_use"
      ? [{ id: block.id, type: "function", function: { name: block.name, arguments: JSON.stringify(block.input) } }]
      : [],
  );
  if (content === "" && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: content === "" ? null : content,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

/** Results come first, because they answer the previous calls. A result can hold only text, so its media follow in the user's message. */
function userMessages(blocks: readonly Block[]): readonly JsonObject[] {
  const results = blocks.filter((block) => block.type === "tool_result");
  const media = results.flatMap(({ content }) =>
    typeof content === "string" || content === undefined
      ? []
      : content.filter((part) => textField(part, "type") !== "text"),
  );
  const otherBlocks = blocks.filter((block) => block.type !== "tool_result");
  const parts = [...media.map((part) => parseBlock(part)), ...otherBlocks].flatMap(chatPart);
  const [only] = parts;
  const isPlain = parts.length === 1 && only !== undefined && textField(only, "type") === "text";
  return [
    ...results.map((result): JsonObject => {
      const text =
        typeof result.content === "string" ? result.content : joinText((result.content ?? []).map(parseBlock));
      const content = result.is_error === true ? `Error: ${text}` : text;
      return { role: "tool", tool_call_id: result.tool_use_id, content };
    }),
    ...(parts.length === 0 ? [] : [{ role: "user", content: isPlain ? (field(only, "text") ?? "") : parts }]),
  ];
}

function chatPart(block: Block): readonly JsonObject[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }];
    case "image":
    case "document":
      return mediaPart(block.type, { ...block });
    case "search_result":
      return [{ type: "text", text: JSON.stringify(block) }];
    default:
      return [];
  }
}

function mediaPart(type: "image" | "document", block: JsonObject): readonly JsonObject[] {
  const source = field(block, "source");
  if (!isObject(source)) return [];
  const data = textField(source, "data") ?? "";
  switch (textField(source, "type")) {
    case "url":
      return type === "image"
        ? [{ type: "image_url", image_url: { url: field(source, "url") ?? "" } }]
        : [{ type: "text", text: `Document: ${textField(source, "url") ?? ""}` }];
    case "base64": {
      const url = `data:${textField(source, "media_type") ?? ""};base64,${data}`;
      const name = textField(block, "title") ?? "document.pdf";
      return type === "image"
        ? [{ type: "image_url", image_url: { url } }]
        : [{ type: "file", file: { filename: name, file_data: url } }];
    }
    case "text":
      return [{ type: "text", text: data }];
    default:
      return [];
  }
}

/** Includes compaction blocks, which hold the summary of the earlier conversation. */
const joinText = (blocks: readonly Block[]): string =>
  blocks
    .flatMap((block) => {
      if (block.type === "text") return [block.text];
      return [compactionBlockText(block) ?? ""];
    })
    .filter((part) => part !== "")
    .join("\n\n");

const parseBlocks = (content: Json | undefined): readonly Block[] => {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isArray(content) ? content.map(parseBlock) : [];
};
