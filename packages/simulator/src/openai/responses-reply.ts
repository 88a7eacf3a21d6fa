import { field, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import type { CacheDiagnosis } from "./diagnose.ts";
import type { OpenAiModel } from "./models.ts";
import type { Wish } from "./item.ts";
import type { Output, OutputItem } from "./output.ts";
import { servedTier } from "./tier.ts";
import type { Usage } from "./usage.ts";

export interface ResponsesReply {
  readonly id: string;
  readonly createdSeconds: number;
  readonly model: OpenAiModel;
  readonly wish: Wish;
  readonly output: Output;
  readonly usage: Usage;
  /** Absent where nobody asked. */
  readonly diagnosis?: CacheDiagnosis;
}

export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

/** How a reply ends that nothing goes wrong with. */
export const finalStatus = ({ ending }: Output): "completed" | "incomplete" =>
  ending === "length" || ending === "content_filter" ? "incomplete" : "completed";

/** The response as it stands when the reply is over. */
export function responseBody(reply: ResponsesReply): JsonObject {
  const status = finalStatus(reply.output);
  const { output, usage, diagnosis, createdSeconds } = reply;
  return {
    ...responseHead(reply, status),
    completed_at: status === "completed" ? createdSeconds : null,
    incomplete_details:
      status === "completed" ? null : { reason: output.ending === "length" ? "max_output_tokens" : "content_filter" },
    output: output.items.map(outputItem),
    usage: responsesUsage(usage),
    ...(diagnosis === undefined ? {} : { prompt_cache_diagnostics: diagnosisBody(diagnosis) }),
  };
}

/** The response as it stands while nothing has been said. */
export function responseHead({ id, createdSeconds, model, wish }: ResponsesReply, status: ResponseStatus): JsonObject {
  const { body, cache } = wish;
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
    instructions: wish.instructions ?? null,
    max_output_tokens: wish.maxOutputTokens ?? null,
    max_tool_calls: repeated("max_tool_calls", null),
    metadata: repeated("metadata", {}),
    model: wish.model,
    output: [],
    parallel_tool_calls: wish.parallelCalls === "allowed",
    previous_response_id: wish.previousId ?? null,
    prompt_cache_key: cache.key ?? null,
    ...(model.caching === "breakpoints"
      ? { prompt_cache_options: { mode: cache.options?.mode ?? "implicit", ttl: cache.options?.ttl ?? "30m" } }
      : {}),
    prompt_cache_retention: cache.retention ?? null,
    reasoning: {
      effort: wish.reasoning.effort ?? null,
      summary: wish.reasoning.summary ?? null,
      context: wish.reasoning.context === "auto" ? model.reasoningContext : wish.reasoning.context,
    },
    safety_identifier: repeated("safety_identifier", null),
    service_tier: servedTier(wish.serviceTier),
    store: wish.keep === "stored",
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
        type: "function_call",
        status: "completed",
        call_id: item.callId,
        name: item.name,
        arguments: item.arguments,
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

export const textPart = (text: string): JsonObject => ({ type: "output_text", text, annotations: [], logprobs: [] });
export const summaryPart = (text: string): JsonObject => ({ type: "summary_text", text });

export const responsesUsage = (usage: Usage): JsonObject => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedTokens,
    cache_write_tokens: usage.written === undefined ? 0 : usage.written["30m"] + usage.written["12h"],
    ...(usage.written === undefined
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
