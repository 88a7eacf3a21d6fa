import type { AgentInputItem } from "@openai/agents";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  parseJson,
  textField,
} from "../../schema/json.ts";
import { chatRequest } from "../../model/openai/chat-request.ts";
import { responsesRequest } from "../../model/openai/responses-request.ts";
import type { Message } from "../../schema/block.ts";
import type { PreparedRequest } from "../shared/adapter-context.ts";

/** An item of the framework and the item of the Responses API by which the context knows it. */
export interface EncodedItem {
  readonly item: AgentInputItem;
  /** Reasoning, if the item only goes with its neighbour: the context tracks nothing in it. */
  readonly encoded: JsonObject;
}

export const encodeItems = (items: readonly AgentInputItem[]): readonly EncodedItem[] =>
  items.map((item) => ({ item, encoded: encodeItem(toJson(item)) }));

/**
 * The request in the framework's items. An item that the context shows as it was is the framework's own object, with its
 * ids and its provider's data; only what the context changed is written anew.
 */
export function writeItems(
  { params, outgoing }: Pick<PreparedRequest<"openai-responses">, "params" | "outgoing">,
  given: readonly EncodedItem[],
): AgentInputItem[] {
  if (outgoing === undefined) return writeNewItems(params.input);
  return outgoing.flatMap((sent) => {
    if (sent.kind === "given") return given[sent.at]?.item ?? [];
    const own = sent.of === undefined ? undefined : given[sent.of]?.item;
    return toResponsesItems(sent.message).map((item) => decodeItem(item, own));
  });
}

/** For a request of the context itself, such as the one for a summary. */
export const writeNewItems = (items: readonly object[]): AgentInputItem[] =>
  items.flatMap((item) => {
    const json = parseJson(JSON.stringify(item));
    return isObject(json) ? [decodeItem(json, undefined)] : [];
  });

function toResponsesItems({ role, content }: Message): readonly JsonObject[] {
  const body = parseJson(JSON.stringify({ messages: [{ role, content }] }));
  const chat = isObject(body) ? chatRequest(body, { outputLimit: "max_completion_tokens" }) : {};
  return listField(responsesRequest(chat), "input").filter(isObject);
}

/**
 * Calls of every kind (shell, computer, patches) become function calls, so that a call and its result stay together. What
 * has no text is named by a short one.
 */
function encodeItem(item: JsonObject): JsonObject {
  const type = textField(item, "type") ?? "message";
  if (type === "message") return { type, role: textField(item, "role") ?? "user", content: encodeContent(item) };
  const call = textField(item, "callId");
  if (call === undefined) return { type: "reasoning" };
  if (type === "function_call") {
    const { name = "", arguments: input = "" } = item;
    return { type, call_id: call, name, arguments: input };
  }
  if (type.endsWith("_call")) {
    const { type: _type, callId: _call, id: _id, status: _status, providerData: _data, ...input } = item;
    return { type: "function_call", call_id: call, name: type, arguments: JSON.stringify(input) };
  }
  return { type: "function_call_output", call_id: call, output: outputText(field(item, "output")) };
}

function encodeContent(item: JsonObject): Json {
  const content = field(item, "content");
  return isArray(content) ? content.filter(isObject).map(encodePart) : (content ?? "");
}

function encodePart(part: JsonObject): JsonObject {
  const type = textField(part, "type") ?? "";
  if (textField(part, "text") !== undefined) return { type, text: textField(part, "text") ?? "" };
  if (type === "refusal") return { type, refusal: textField(part, "refusal") ?? "" };
  const image = textField(part, "image");
  if (type === "input_image" && image !== undefined) return { type, image_url: image, detail: "auto" };
  return { type: "input_text", text: mediaText(part) };
}

function outputText(output: Json | undefined): string {
  if (typeof output === "string") return output;
  if (isArray(output)) return output.map(outputText).join("\n");
  if (!isObject(output)) return "";
  const text = textField(output, "text");
  if (text !== undefined) return text;
  const { stdout, stderr } = output;
  return typeof stdout === "string" ? `${stdout}${typeof stderr === "string" ? stderr : ""}` : mediaText(output);
}

const mediaText = (part: JsonObject): string =>
  `[${textField(part, "type") ?? "part"}, ${JSON.stringify(part).length} characters]`;

/**
 * For what the context wrote itself (summaries, reminders) or changed. `own`: the item in whose place it is sent. It keeps
 * everything but its content.
 */
function decodeItem(item: JsonObject, own: AgentInputItem | undefined): AgentInputItem {
  const callId = textField(item, "call_id") ?? "";
  switch (textField(item, "type")) {
    case "function_call": {
      const call = { name: textField(item, "name") ?? "", arguments: textField(item, "arguments") ?? "{}" };
      if (own?.type === "function_call") return { ...own, ...call };
      return own !== undefined && "callId" in own
        ? own
        : { type: "function_call", callId, ...call, status: "completed" };
    }
    case "function_call_output":
      return decodeResult(outputText(field(item, "output")), { callId, own });
    default:
      return decodeMessage(item, own);
  }
}

interface ResultInput {
  readonly callId: string;
  readonly own: AgentInputItem | undefined;
}

/** A screenshot can't be a text. It is counted as a short one, which there is no reason to clear. */
function decodeResult(text: string, { callId, own }: ResultInput): AgentInputItem {
  if (own === undefined)
    return { type: "function_call_result", callId, name: "tool", status: "completed", output: text };
  // An empty result is shown with a note that it is empty.
  if (outputText(field(toJson(own), "output")).trim() === "") return own;
  switch (own.type) {
    case "function_call_result":
    case "apply_patch_call_output":
      return { ...own, output: text };
    case "shell_call_output": {
      const { outcome } = own.output.at(-1) ?? { outcome: { type: "exit" as const, exitCode: null } };
      return { ...own, output: [{ stdout: text, stderr: "", outcome }] };
    }
    default:
      return own;
  }
}

function decodeMessage(item: JsonObject, own: AgentInputItem | undefined): AgentInputItem {
  const content = field(item, "content");
  const texts =
    typeof content === "string"
      ? [content]
      : listField(item, "content").flatMap((part) => (isObject(part) ? (textField(part, "text") ?? []) : []));
  const role = textField(item, "role");
  if (role === "assistant") {
    const said = texts.map((text) => ({ type: "output_text" as const, text }));
    return own !== undefined && "role" in own && own.role === "assistant"
      ? { ...own, content: said }
      : { type: "message", role, status: "completed", content: said };
  }
  if (role === "system" || role === "developer") return { type: "message", role: "system", content: texts.join("\n") };
  const images = listField(item, "content").flatMap((part) => {
    const image = isObject(part) ? textField(part, "image_url") : undefined;
    return image === undefined ? [] : [{ type: "input_image" as const, image }];
  });
  return {
    type: "message",
    role: "user",
    content: [...texts.map((text) => ({ type: "input_text" as const, text })), ...images],
  };
}

/** Bytes as text, which JSON can hold. */
function toJson(item: AgentInputItem): JsonObject {
  const json = parseJson(
    JSON.stringify(item, (_key, inner: unknown) =>
      inner instanceof Uint8Array ? Buffer.from(inner).toString("base64") : inner,
    ),
  );
  return isObject(json) ? json : {};
}
