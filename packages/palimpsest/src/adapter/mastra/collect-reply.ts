import { field, isObject, type Json, type JsonObject, parseJson, textField } from "../../schema/json.ts";
import type { ModelReply } from "../ai-sdk/model-reply.ts";
import { encodePart, type PromptPart } from "../ai-sdk/prompt-message.ts";

/**
 * A reply in the format of the Messages API, from the chunks of Mastra or the parts of a model's stream: the same events,
 * with other names for some fields in each version.
 */
export function collectReply(chunks: Iterable<object>, model: string): ModelReply {
  const content: PromptPart[] = [];
  const openById = new Map<string, { type: string; text: string; providerMetadata?: unknown }>();
  let id: string | undefined;
  let end: JsonObject = {};
  for (const chunk of chunks) {
    const { type, fields } = readChunk(chunk);
    const [kind = "", phase] = (type ?? "").split("-");
    if ((kind === "text" || kind === "reasoning") && phase !== undefined) {
      const key = `${kind} ${textField(fields, "id") ?? ""}`;
      const known = openById.get(key);
      const open = known ?? { type: kind, text: "" };
      if (known === undefined) content.push(open);
      openById.set(key, open);
      open.text += textField(fields, "text") ?? textField(fields, "delta") ?? "";
      const metadata = field(fields, "providerMetadata");
      if (metadata !== undefined) open.providerMetadata = metadata;
    }
    if (type === "tool-call") {
      const call = { ...fields, type, input: field(fields, "args") ?? field(fields, "input") ?? {} };
      content.push(call);
    }
    if (type === "response-metadata") id = textField(fields, "id");
    if (type === "finish") end = fields;
  }
  return {
    id: id ?? crypto.randomUUID(),
    model,
    content: content.flatMap((part) => encodePart(part) ?? []),
    stop_reason: stopReasons[readReason(end)] ?? "end_turn",
    usage: readUsage(field(asObject(field(end, "output")), "usage") ?? field(end, "usage")),
  };
}

/** Mastra has the fields in `payload`; a text that repeats its `type` there has other names. */
function readChunk(chunk: object): { readonly type: string | undefined; readonly fields: JsonObject } {
  const json = asObject(parseJson(JSON.stringify(chunk)));
  const payload = field(json, "payload");
  return { type: textField(json, "type"), fields: isObject(payload) ? payload : json };
}

function readReason(end: JsonObject): string {
  const reason = field(end, "finishReason");
  const unified = isObject(reason) ? textField(reason, "unified") : undefined;
  const own = textField(asObject(field(end, "stepResult")), "reason");
  return unified ?? own ?? (typeof reason === "string" ? reason : "stop");
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "tool_use",
};

/** The count of the input includes what the cache read and wrote. */
function readUsage(usage: Json | undefined): JsonObject {
  const known = asObject(usage);
  const [input, output] = [field(known, "inputTokens"), field(known, "outputTokens")];
  const details = asObject(input);
  const read = readNumber(field(details, "cacheRead") ?? field(known, "cachedInputTokens"));
  const written = readNumber(field(details, "cacheWrite") ?? field(known, "cacheCreationInputTokens"));
  const all = readNumber(isObject(input) ? field(input, "total") : input);
  return {
    input_tokens: Math.max(0, all - read - written),
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: readNumber(isObject(output) ? field(output, "total") : output),
  };
}

const readNumber = (value: Json | undefined): number => (typeof value === "number" ? value : 0);

const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
