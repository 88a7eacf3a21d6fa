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
import { restoreItems } from "../shared/restore-items.ts";

/** An item of the framework and the item of the Responses API by which the context knows it. */
export interface EncodedItem {
  readonly item: AgentInputItem;
  /** Of a type that the context does not know if the item only goes with its neighbour, such as reasoning. */
  readonly encoded: JsonObject;
}

export const encodeItems = (items: readonly AgentInputItem[]): readonly EncodedItem[] =>
  items.map((item) => ({ item, encoded: encodeItem(toJson(item)) }));

/** What the context is told: the items with a meaning of their own. */
export const listKnown = (items: readonly EncodedItem[]): readonly JsonObject[] =>
  items.flatMap(({ encoded }) => (knownTypes.has(textField(encoded, "type") ?? "") ? [encoded] : []));

const knownTypes: ReadonlySet<string> = new Set(["message", "function_call", "function_call_output"]);

/**
 * The context's items as the framework's. An item that the context shows as it was is the framework's own object again, with
 * its ids, its provider's data and its reasoning; only what the context changed is written anew.
 */
export function restoreAgentItems(sent: readonly object[], given: readonly EncodedItem[]): AgentInputItem[] {
  const itemByEncoded = new Map(given.map(({ item, encoded }) => [encoded, item]));
  const resultByCall = new Map(
    given.flatMap(({ item, encoded }) =>
      textField(encoded, "type") === "function_call_output" ? [[textField(encoded, "call_id"), item] as const] : [],
    ),
  );
  const encoded = given.map((one) => one.encoded);
  return restoreItems(sent, encoded).map(
    (item) => itemByEncoded.get(item) ?? decodeItem(item, resultByCall.get(textField(item, "call_id"))),
  );
}

/**
 * Calls of every kind (shell, computer, patches) become function calls, so that a call and its result stay together. What
 * has no text, such as a picture in a result, is named by a short text.
 */
function encodeItem(item: JsonObject): JsonObject {
  const type = textField(item, "type") ?? "message";
  if (type === "message") return { type, role: textField(item, "role") ?? "user", content: encodeContent(item) };
  const call = textField(item, "callId");
  if (call === undefined) return { type: `agents_${type}` };
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

/** For what the context wrote itself (summaries, reminders) or cleared. Only results of functions can be shortened. */
function decodeItem(item: JsonObject, result: AgentInputItem | undefined): AgentInputItem {
  const callId = textField(item, "call_id") ?? "";
  switch (textField(item, "type")) {
    case "function_call":
      return {
        type: "function_call",
        callId,
        name: textField(item, "name") ?? "",
        arguments: textField(item, "arguments") ?? "{}",
        status: "completed",
      };
    case "function_call_output": {
      const output = textField(item, "output") ?? "";
      if (result?.type === "function_call_result") return { ...result, output };
      return result ?? { type: "function_call_result", callId, name: "tool", status: "completed", output };
    }
    default:
      return decodeMessage(item);
  }
}

function decodeMessage(item: JsonObject): AgentInputItem {
  const content = field(item, "content");
  const texts =
    typeof content === "string"
      ? [content]
      : listField(item, "content").flatMap((part) => (isObject(part) ? (textField(part, "text") ?? []) : []));
  const role = textField(item, "role");
  if (role === "assistant")
    return {
      type: "message",
      role,
      status: "completed",
      content: texts.map((text) => ({ type: "output_text", text })),
    };
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
