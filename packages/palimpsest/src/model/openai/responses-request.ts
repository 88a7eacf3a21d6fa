import { field, isArray, isObject, type Json, type JsonObject, listField, textField } from "../../schema/json.ts";

/**
 * Translates a request for chat completions into one for the Responses API: messages, calls and results each become items.
 * Reasoning of earlier replies is not sent, because neither the server nor we keep it.
 */
export function responsesRequest(chat: JsonObject): JsonObject {
  const messages = listField(chat, "messages").filter(isObject);
  const instructions = messages
    .filter((message) => textField(message, "role") === "system")
    .map((message) => textField(message, "content") ?? "")
    .join("\n\n");
  const tools = listField(chat, "tools").filter(isObject).map(responsesTool);
  const limit = field(chat, "max_completion_tokens");
  return {
    model: field(chat, "model") ?? "",
    input: messages.flatMap(toItems),
    ...(instructions === "" ? {} : { instructions }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(limit === undefined ? {} : { max_output_tokens: limit }),
    store: false,
  };
}

function responsesTool(tool: JsonObject): JsonObject {
  const definition = field(tool, "function");
  return { type: "function", ...(isObject(definition) ? definition : {}), strict: false };
}

function toItems(message: JsonObject): readonly JsonObject[] {
  const content = field(message, "content");
  switch (textField(message, "role")) {
    case "assistant":
      return [
        ...(typeof content === "string" ? [{ type: "message", role: "assistant", content }] : []),
        ...listField(message, "tool_calls").filter(isObject).map(callItem),
      ];
    case "tool":
      return [
        {
          type: "function_call_output",
          call_id: field(message, "tool_call_id") ?? "",
          output: content ?? "",
        },
      ];
    case "user":
      return [{ type: "message", role: "user", content: toParts(content) }];
    default:
      return [];
  }
}

function callItem(call: JsonObject): JsonObject {
  const called = field(call, "function");
  const { name = "", arguments: args = "{}" } = isObject(called) ? called : {};
  return { type: "function_call", call_id: field(call, "id") ?? "", name, arguments: args };
}

const toParts = (content: Json | undefined): readonly JsonObject[] =>
  typeof content === "string"
    ? [{ type: "input_text", text: content }]
    : (isArray(content) ? content : []).filter(isObject).flatMap(toPart);

function toPart(part: JsonObject): readonly JsonObject[] {
  const image = field(part, "image_url");
  const file = field(part, "file");
  switch (textField(part, "type")) {
    case "text":
      return [{ type: "input_text", text: field(part, "text") ?? "" }];
    case "image_url":
      return isObject(image) ? [{ type: "input_image", image_url: field(image, "url") ?? "", detail: "auto" }] : [];
    case "file":
      return isObject(file) ? [{ type: "input_file", ...file }] : [];
    default:
      return [];
  }
}
