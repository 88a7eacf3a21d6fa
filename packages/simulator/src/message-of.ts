import { type Json, parseJson } from "palimpsest/internal/schema/json";
import type {
  AppliedEdit,
  CacheMissReason,
  InputTransformation,
  ReplyMessage,
  WireUsage,
} from "palimpsest/internal/schema/wire/reply";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { asksForCompactions } from "./compaction/betas.ts";
import type { Fault } from "./fault.ts";
import { type Iteration, iterationTold, totalOf, usageTold } from "./iteration.ts";
import type { Said } from "./reply.ts";

export interface MessageInputs {
  readonly messageId: string;
  readonly request: MessagesRequest;
  readonly betas: ReadonlySet<string>;
  readonly said: Said;
  /** In the order in which the model was asked. */
  readonly iterations: readonly Iteration[];
  readonly fault: Fault | undefined;
  readonly transformations: readonly InputTransformation[];
  /** Undefined where nobody asked. */
  readonly missReason: CacheMissReason | null | undefined;
  /** Undefined where nobody asked. */
  readonly edits: { readonly applied: readonly AppliedEdit[] } | undefined;
  /** What it says of itself besides. */
  readonly besides: Partial<ReplyMessage>;
}

const bindingBeta = "thinking-binding-controls-2026-08-01";

export function messageOf(inputs: MessageInputs): ReplyMessage {
  const { messageId, request, betas, said, transformations, missReason, edits, besides } = inputs;
  return {
    id: messageId,
    type: "message",
    role: "assistant",
    model: request.model,
    content: said.content,
    stop_reason: said.stopReason,
    stop_sequence: said.stopSequence,
    stop_details: null,
    container: null,
    usage: usageOf(inputs),
    ...(missReason === undefined
      ? {}
      : { diagnostics: missReason === null ? null : { cache_miss_reason: missReason } }),
    ...(betas.has(bindingBeta) ? { input_transformations: transformations } : {}),
    ...(edits === undefined ? {} : { context_management: { applied_edits: edits.applied } }),
    ...besides,
  };
}

/**
 * The message as one body carries it. Input that no parser takes can't stand in JSON as it is: there it is a text where
 * an object belongs; input that is JSON, but perhaps no object, stands as it is.
 */
export const withRawInputs = (message: ReplyMessage, rawInputs: ReadonlyMap<number, string>): object => ({
  ...message,
  content: message.content.map((block, at) => {
    const raw = rawInputs.get(at);
    return raw === undefined ? block : { ...block, input: jsonOrText(raw) };
  }),
});

function jsonOrText(raw: string): Json {
  try {
    return parseJson(raw);
  } catch {
    return raw;
  }
}

function usageOf({ request, betas, said, iterations, fault }: MessageInputs): WireUsage {
  const factor = fault?.kind === "wrong-usage" ? fault.factor : 1;
  const told = (tokens: number): number => Math.round(tokens * factor);
  return {
    ...usageTold(totalOf(iterations), told),
    ...(asksForCompactions(betas)
      ? { iterations: iterations.map((one) => iterationTold(one, { model: request.model, told })) }
      : {}),
    output_tokens_details: said.thinkingTokens === 0 ? null : { thinking_tokens: told(said.thinkingTokens) },
    server_tool_use: null,
    service_tier: "standard",
    inference_geo: request.inference_geo ?? null,
    speed: request.speed ?? "standard",
  };
}
