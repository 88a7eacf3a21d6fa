import { field, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import type { CacheDiagnosis, Usage } from "./open-ai-cache.ts";
import type { OpenAiModel } from "./open-ai-models.ts";
import { type OpenAiRequest, resolveServiceTier } from "./open-ai-request.ts";
import type { Output, OutputItem } from "./output.ts";
import type { Frame } from "../answer.ts";
import { textPieces } from "../reply/compose-reply.ts";

export interface ResponsesReply {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: OpenAiModel;
  readonly request: OpenAiRequest;
  readonly output: Output;
  readonly usage: Usage;
  /** Absent if the request did not ask for it. */
  readonly diagnosis?: CacheDiagnosis;
}

type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

/** The status of a reply in which nothing goes wrong. */
const finalStatus = ({ ending }: Output): "completed" | "incomplete" =>
  ending === "length" || ending === "content_filter" ? "incomplete" : "completed";

/** The response after the reply has ended. */
export function responseBody(reply: ResponsesReply): JsonObject {
  const status = finalStatus(reply.output);
  const { output, usage, diagnosis, createdSeconds } = reply;
  return {
    ...responseHead(reply, status),
    completed_at: status === "completed" ? createdSeconds : null,
    incomplete_details:
      status === "completed" ? null : { reason: output.ending === "length" ? "max_output_tokens" : "content_filter" },
    output: output.items.map(outputItem),
    usage: responsesUsage(usage, reply.request),
    ...(diagnosis === undefined ? {} : { prompt_cache_diagnostics: diagnosisBody(diagnosis) }),
  };
}

/** The response before any output. */
function responseHead({ id, createdSeconds, model, request }: ResponsesReply, status: ResponseStatus): JsonObject {
  const { body, cache } = request;
  const repeated = (name: string, usual: Json): Json => field(body, name) ?? usual;
  return {
    id,
    object: "response",
    created_at: createdSeconds,
    status,
    access_programs: null,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.maxOutputTokens ?? null,
    max_tool_calls: repeated("max_tool_calls", null),
    metadata: repeated("metadata", {}),
    model: request.model,
    output: [],
    parallel_tool_calls: request.parallelCalls === "allowed",
    previous_response_id: request.previousId ?? null,
    prompt_cache_key: cache.key ?? null,
    ...(model.caching === "breakpoints"
      ? { prompt_cache_options: { mode: cache.options?.mode ?? "implicit", ttl: cache.options?.ttl ?? "30m" } }
      : {}),
    prompt_cache_retention: cache.retention ?? null,
    reasoning: {
      effort: request.reasoning.effort ?? null,
      summary: request.reasoning.summary ?? null,
      context: request.reasoning.context === "auto" ? model.reasoningContext : request.reasoning.context,
    },
    safety_identifier: repeated("safety_identifier", null),
    service_tier: resolveServiceTier(request.serviceTier),
    store: request.keep === "stored",
    temperature: repeated("temperature", 1),
    text: repeated("text", { format: { type: "text" } }),
    tool_choice: repeated("tool_choice", "auto"),
    tools: repeated("tools", []),
    top_p: repeated("top_p", 1),
    truncation: "disabled",
    usage: null,
    user: repeated("user", null),
  };
}

export function outputItem(item: OutputItem): JsonObject {
  switch (item.kind) {
    case "message":
      return {
        id: item.id,
        type: "message",
        status: item.status,
        role: "assistant",
        content: [textPart(item.text)],
      };
    case "call":
      return {
        id: item.id,
        type: item.input === "text" ? "custom_tool_call" : "function_call",
        status: "completed",
        call_id: item.callId,
        name: item.name,
        [callField(item)]: item.arguments,
        ...(item.namespace === undefined ? {} : { namespace: item.namespace }),
      };
    case "reasoning":
      return {
        id: item.id,
        type: "reasoning",
        summary: item.summary.map(summaryPart),
        encrypted_content: item.sealed,
      };
    case "compaction":
      return { id: item.id, type: "compaction", encrypted_content: item.sealed };
  }
}

/** The field of a call, and the end of the names of its events. */
const callField = ({ input }: Extract<OutputItem, { kind: "call" }>): "input" | "arguments" =>
  input === "text" ? "input" : "arguments";

const textPart = (text: string): JsonObject => ({ type: "output_text", text, annotations: [], logprobs: [] });
const summaryPart = (text: string): JsonObject => ({ type: "summary_text", text });

/** Clients that expect numbers only refuse a breakdown, so it is sent only to a request that controls its cache. */
const asksForCacheDetails = ({ cache, items }: OpenAiRequest): boolean =>
  cache.options !== undefined ||
  items.some((item) => "parts" in item && item.parts.some(({ mark }) => mark !== undefined));

export const responsesUsage = (usage: Usage, request: OpenAiRequest): JsonObject => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedTokens,
    cache_write_tokens: usage.written === undefined ? 0 : usage.written["30m"] + usage.written["12h"],
    ...(usage.written === undefined || !asksForCacheDetails(request)
      ? {}
      : {
          cache_write_tokens_details: {
            ttl_30m_tokens: usage.written["30m"],
            ttl_12h_tokens: usage.written["12h"],
          },
        }),
  },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens,
});

const diagnosisBody = (diagnosis: CacheDiagnosis): JsonObject =>
  diagnosis.kind === "cache_miss"
    ? {
        type: "cache_miss",
        reason: diagnosis.reason,
        cache_missed_tokens: diagnosis.missedTokens,
        comparison_reusable_tokens: diagnosis.reusableTokens,
      }
    : { type: diagnosis.kind };

type ResponseEvent = JsonObject & { readonly type: string };

/** A response as the events of a stream, in the order in which the API sends them, numbered from 0. */
export function* responsesFrames(reply: ResponsesReply): Generator<Frame> {
  let number = 0;
  for (const event of responseEvents(reply)) yield eventFrame(event, number++);
}

/** The event of a stream that fails after `sent` events. */
export const failureFrame = (
  reply: ResponsesReply,
  { error, number }: { readonly error: JsonObject; readonly number: number },
): Frame => eventFrame({ type: "response.failed", response: { ...responseHead(reply, "failed"), error } }, number);

function eventFrame({ type, ...fields }: ResponseEvent, number: number): Frame {
  const data = JSON.stringify({ type, sequence_number: number, ...fields });
  return { text: `event: ${type}\ndata: ${data}\n\n`, kind: frameKind(type) };
}

function frameKind(type: string): Frame["kind"] {
  if (type.endsWith(".delta")) return "delta";
  return type === "response.completed" || type === "response.incomplete" ? "last" : "other";
}

function* responseEvents(reply: ResponsesReply): Generator<ResponseEvent> {
  const head = responseHead(reply, "in_progress");
  yield { type: "response.created", response: head };
  yield { type: "response.in_progress", response: head };
  for (const [index, item] of reply.output.items.entries()) {
    const item_id = item.id;
    yield { type: "response.output_item.added", output_index: index, item: emptyItem(item) };
    yield* itemEvents(item, { item_id, output_index: index });
    yield { type: "response.output_item.done", output_index: index, item: outputItem(item) };
  }
  yield { type: `response.${finalStatus(reply.output)}`, response: responseBody(reply) };
}

interface ItemPlace extends JsonObject {
  readonly item_id: string;
  readonly output_index: number;
}

/** An item before any of its content. */
function emptyItem(item: OutputItem): JsonObject {
  const whole = outputItem(item);
  switch (item.kind) {
    case "message":
      return { ...whole, status: "in_progress", content: [] };
    case "call":
      return { ...whole, status: "in_progress", [callField(item)]: "" };
    case "reasoning":
      return { ...whole, summary: [], encrypted_content: "" };
    case "compaction":
      return { ...whole, encrypted_content: "" };
  }
}

function* itemEvents(item: OutputItem, place: ItemPlace): Generator<ResponseEvent, undefined> {
  switch (item.kind) {
    case "message":
      yield* textEvents(item.text, { ...place, content_index: 0 });
      return undefined;
    case "call":
      yield* callEvents(item, place);
      return undefined;
    case "reasoning":
      for (const [at, text] of item.summary.entries()) yield* summaryEvents(text, { ...place, summary_index: at });
      return undefined;
    case "compaction":
      yield { type: "response.compaction.compacting", ...place };
      return undefined;
  }
}

function* callEvents(call: Extract<OutputItem, { kind: "call" }>, place: ItemPlace): Generator<ResponseEvent> {
  const event = call.input === "text" ? "response.custom_tool_call_input" : "response.function_call_arguments";
  for (const delta of textPieces(call.arguments)) yield { type: `${event}.delta`, ...place, delta };
  yield { type: `${event}.done`, ...place, [callField(call)]: call.arguments };
}

function* textEvents(text: string, place: JsonObject): Generator<ResponseEvent> {
  yield { type: "response.content_part.added", ...place, part: textPart("") };
  for (const delta of textPieces(text)) yield { type: "response.output_text.delta", ...place, delta, logprobs: [] };
  yield { type: "response.output_text.done", ...place, text, logprobs: [] };
  yield { type: "response.content_part.done", ...place, part: textPart(text) };
}

function* summaryEvents(text: string, place: JsonObject): Generator<ResponseEvent> {
  yield { type: "response.reasoning_summary_part.added", ...place, part: summaryPart("") };
  for (const delta of textPieces(text)) yield { type: "response.reasoning_summary_text.delta", ...place, delta };
  yield { type: "response.reasoning_summary_text.done", ...place, text };
  yield { type: "response.reasoning_summary_part.done", ...place, part: summaryPart(text) };
}
