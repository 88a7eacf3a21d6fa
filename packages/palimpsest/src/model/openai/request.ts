import { type Block, parseBlock } from "../../schema/block.ts";
import { field, isArray, isObject, type Json, type JsonObject, listAt, text } from "../../schema/json.ts";
import { summaryIn } from "../../schema/server-summary.ts";
import type { OutputLimitField } from "./output-limit.ts";

export interface ChatForm {
  readonly outputLimit: OutputLimitField;
}

/**
 * A request of the Messages API as one for chat completions. The same request always yields the same bytes, and a longer
 * conversation yields a longer list: providers cache by prefix. Thinking, server tools and cache marks have no place
 * there and are left out.
 */
export function chatRequest(request: JsonObject, { outputLimit }: ChatForm): JsonObject {
  const tools = listAt(request, "tools").filter(isObject).filter(isOwnTool);
  const stop = listAt(request, "stop_sequences");
  return {
    model: field(request, "model") ?? "",
    messages: [...systemMessages(field(request, "system")), ...listAt(request, "messages").flatMap(chatMessages)],
    ...(tools.length === 0 ? {} : { tools: tools.map(chatTool), ...toolChoice(field(request, "tool_choice")) }),
    ...kept(request, "max_tokens", outputLimit),
    ...kept(request, "temperature", "temperature"),
    ...kept(request, "top_p", "top_p"),
    ...(stop.length === 0 ? {} : { stop }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

const kept = (request: JsonObject, from: string, to: string): JsonObject => {
  const value = field(request, from);
  return value === undefined || value === null ? {} : { [to]: value };
};

/** Tools that the other provider runs itself have a type of their own. */
const isOwnTool = (tool: JsonObject): boolean => [undefined, "custom"].includes(text(tool, "type"));

const chatTool = (tool: JsonObject): JsonObject => ({
  type: "function",
  function: {
    name: field(tool, "name") ?? "",
    ...kept(tool, "description", "description"),
    parameters: field(tool, "input_schema") ?? { type: "object" },
  },
});

function toolChoice(choice: Json | undefined): JsonObject {
  if (!isObject(choice)) return {};
  const alone: JsonObject = field(choice, "disable_parallel_tool_use") === true ? { parallel_tool_calls: false } : {};
  switch (text(choice, "type")) {
    case "any":
      return { tool_choice: "required", ...alone };
    case "none":
      return { tool_choice: "none" };
    case "tool":
      return { tool_choice: { type: "function", function: { name: field(choice, "name") ?? "" } }, ...alone };
    default:
      return alone;
  }
}

function systemMessages(system: Json | undefined): readonly JsonObject[] {
  const content = typeof system === "string" ? system : textOf(blocksOf(system));
  return content === "" ? [] : [{ role: "system", content }];
}

function chatMessages(message: Json): readonly JsonObject[] {
  if (!isObject(message)) return [];
  const blocks = blocksOf(field(message, "content"));
  switch (text(message, "role")) {
    case "assistant":
      return assistantMessages(blocks);
    case "system":
      return systemMessages(textOf(blocks));
    default:
      return userMessages(blocks);
  }
}

function assistantMessages(blocks: readonly Block[]): readonly JsonObject[] {
  const content = textOf(blocks);
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

/** Results answer the calls before them, so they come first; a result holds only text, so its pictures follow behind. */
function userMessages(blocks: readonly Block[]): readonly JsonObject[] {
  const results = blocks.filter((block) => block.type === "tool_result");
  const media = results.flatMap(({ content }) =>
    typeof content === "string" || content === undefined ? [] : content.filter((part) => text(part, "type") !== "text"),
  );
  const own = blocks.filter((block) => block.type !== "tool_result");
  const parts = [...media.map((part) => parseBlock(part)), ...own].flatMap(chatPart);
  const [only] = parts;
  const isPlain = parts.length === 1 && only !== undefined && text(only, "type") === "text";
  return [
    ...results.map((result): JsonObject => {
      const said = typeof result.content === "string" ? result.content : textOf((result.content ?? []).map(parseBlock));
      const content = result.is_error === true ? `Error: ${said}` : said;
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
  const data = text(source, "data") ?? "";
  switch (text(source, "type")) {
    case "url":
      return type === "image"
        ? [{ type: "image_url", image_url: { url: field(source, "url") ?? "" } }]
        : [{ type: "text", text: `Document: ${text(source, "url") ?? ""}` }];
    case "base64": {
      const url = `data:${text(source, "media_type") ?? ""};base64,${data}`;
      const name = text(block, "title") ?? "document.pdf";
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

/** Blocks of a compaction hold the summary of what came before. */
const textOf = (blocks: readonly Block[]): string =>
  blocks
    .flatMap((block) => {
      if (block.type === "text") return [block.text];
      return [summaryIn(block) ?? ""];
    })
    .filter((part) => part !== "")
    .join("\n\n");

const blocksOf = (content: Json | undefined): readonly Block[] => {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isArray(content) ? content.map(parseBlock) : [];
};
