import { isObject, type Json } from "palimpsest/internal/schema/json";
import { type ChatMessage, type ChatPart, type ChatRequest, chatRequest } from "./chat-shape.ts";
import { cacheWish, markOf, sent } from "./common-shape.ts";
import type { Format, Item, Part, ToolChoice, WishRead } from "./item.ts";
import { shapeRefusal } from "./shape-issue.ts";

export function readChat(body: Json): WishRead {
  const read = chatRequest.safeParse(body);
  if (!read.success) return shapeRefusal(read.error.issues, body);
  const { data } = read;
  const limit = data.max_completion_tokens ?? data.max_tokens;
  // One message may be several items.
  const placed = data.messages.flatMap((message, at) =>
    itemsOf(message).map((item) => ({ item, place: `messages[${at}].content` })),
  );
  return {
    kind: "wish",
    wish: {
      api: "chat",
      model: data.model,
      form: data.stream === true ? "stream" : "json",
      streamUsage: data.stream_options?.include_usage === true ? "told" : "untold",
      items: placed.map(({ item }) => item),
      places: placed.map(({ place }) => place),
      tools: (data.tools ?? []).map((tool) => ({
        name: tool.function.name,
        ...sent("description", tool.function.description),
        parameters: tool.function.parameters ?? {},
        ...sent("strict", tool.function.strict),
      })),
      toolChoice: toolChoiceOf(data.tool_choice),
      parallelCalls: data.parallel_tool_calls === false ? "refused" : "allowed",
      ...sent("maxOutputTokens", limit),
      stop: typeof data.stop === "string" ? [data.stop] : (data.stop ?? []),
      reasoning: { ...sent("effort", data.reasoning_effort), context: "auto" },
      ...sent("verbosity", data.verbosity),
      ...sent("format", formatOf(data.response_format)),
      ...sent("serviceTier", data.service_tier),
      cache: cacheWish(data),
      keep: "forgotten",
      body: isObject(body) ? body : {},
    },
  };
}

function formatOf(format: ChatRequest["response_format"]): Format | undefined {
  switch (format?.type) {
    case "json_object":
      return format;
    case "json_schema":
      return { ...format.json_schema, type: "json_schema" };
    case "text":
    case undefined:
      return undefined;
  }
}

function toolChoiceOf(choice: ChatRequest["tool_choice"]): ToolChoice {
  if (choice === null || choice === undefined) return "auto";
  return typeof choice === "string" ? choice : { name: choice.function.name };
}

function itemsOf(message: ChatMessage): readonly Item[] {
  switch (message.role) {
    case "system":
    case "developer":
    case "user":
      return [{ kind: "message", role: message.role, parts: partsOf(message.content) }];
    case "tool":
      return [{ kind: "output", callId: message.tool_call_id, parts: partsOf(message.content) }];
    case "assistant": {
      const said = partsOf(message.content ?? message.refusal ?? []);
      return [
        ...(said.length === 0 ? [] : [{ kind: "message", role: "assistant", parts: said } as const]),
        ...(message.tool_calls ?? []).map((call): Item => ({
          kind: "call",
          callId: call.id,
          name: call.function.name,
          arguments: call.function.arguments,
        })),
      ];
    }
  }
}

const partsOf = (content: string | readonly ChatPart[]): readonly Part[] =>
  typeof content === "string" ? [{ kind: "text", text: content }] : content.map(partOf);

function partOf(part: ChatPart): Part {
  switch (part.type) {
    case "text":
      return { kind: "text", text: part.text, ...markOf(part.prompt_cache_breakpoint) };
    case "refusal":
      return { kind: "text", text: part.refusal };
    case "image_url":
      return { kind: "image", url: part.image_url.url, ...markOf(part.prompt_cache_breakpoint) };
    case "file":
      return {
        kind: "file",
        name: part.file.filename ?? part.file.file_id ?? "file",
        data: part.file.file_data ?? "",
        ...markOf(part.prompt_cache_breakpoint),
      };
  }
}
