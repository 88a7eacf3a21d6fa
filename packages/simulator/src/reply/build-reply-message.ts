import { type Json, parseJson } from "palimpsest/internal/schema/json";
import type {
  AppliedEdit,
  CacheMissReason,
  InputTransformation,
  ReplyMessage,
  WireUsage,
  ReplyBlock,
  StreamEvent,
} from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { hasCompactionBeta } from "../compaction/compaction-block.ts";
import type { Fault } from "../fault/fault.ts";
import { type Iteration, iterationReport, replyTotals, usageReport } from "./iteration.ts";
import { type ComposedReply, textPieces } from "./compose-reply.ts";
import type { StreamFormat } from "./deliver.ts";

interface ReplyMessageInput {
  readonly messageId: string;
  readonly request: MessagesRequest;
  readonly betas: ReadonlySet<string>;
  readonly said: ComposedReply;
  /** In the order in which the model was asked. */
  readonly iterations: readonly Iteration[];
  readonly fault: Fault | undefined;
  readonly transformations: readonly InputTransformation[];
  /** Undefined if the request did not ask for it. */
  readonly missReason: CacheMissReason | null | undefined;
  /** Undefined if the request did not ask for it. */
  readonly edits: { readonly applied: readonly AppliedEdit[] } | undefined;
  /** Further fields of the message. */
  readonly besides: Partial<ReplyMessage>;
}

const bindingBeta = "thinking-binding-controls-2026-08-01";

export function buildReplyMessage(inputs: ReplyMessageInput): ReplyMessage {
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
    usage: buildReplyUsage(inputs),
    ...(missReason === undefined
      ? {}
      : { diagnostics: missReason === null ? null : { cache_miss_reason: missReason } }),
    ...(betas.has(bindingBeta) ? { input_transformations: transformations } : {}),
    ...(edits === undefined ? {} : { context_management: { applied_edits: edits.applied } }),
    ...besides,
  };
}

/**
 * The message as one body carries it. Raw input that is JSON stands as it is, even if it is not an object. Input that
 * no parser accepts cannot stand in JSON: there it is a string in place of the object.
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

function buildReplyUsage({ request, betas, said, iterations, fault }: ReplyMessageInput): WireUsage {
  const factor = fault?.kind === "wrong-usage" ? fault.factor : 1;
  const report = (tokens: number): number => Math.round(tokens * factor);
  return {
    ...usageReport(replyTotals(iterations), report),
    ...(hasCompactionBeta(betas)
      ? { iterations: iterations.map((iteration) => iterationReport(iteration, { model: request.model, report })) }
      : {}),
    output_tokens_details: said.thinkingTokens === 0 ? null : { thinking_tokens: report(said.thinkingTokens) },
    server_tool_use: null,
    service_tier: "standard",
    inference_geo: request.inference_geo ?? null,
    speed: request.speed ?? "standard",
  };
}

/** A reply as the events of a stream, in the order in which the API sends them. */
export function* messageEvents(message: ReplyMessage, rawInputs: ReadonlyMap<number, string>): Generator<StreamEvent> {
  const { stop_reason, stop_sequence, stop_details, container, usage, content, context_management: edited } = message;
  // The usage of each iteration is known only at the end.
  const unsampled = usage.iterations === undefined ? {} : { iterations: [] };
  yield {
    type: "message_start",
    message: {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: Math.min(1, usage.output_tokens), output_tokens_details: null, ...unsampled },
      ...(edited === undefined ? {} : { context_management: null }),
    },
  };
  yield { type: "ping" };
  for (const [index, block] of content.entries()) yield* blockEvents(block, { index, rawInput: rawInputs.get(index) });
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  const { output_tokens, output_tokens_details, server_tool_use, iterations } = usage;
  yield {
    type: "message_delta",
    delta: { stop_reason, stop_sequence, stop_details, container },
    usage: {
      input_tokens,
      cache_creation_input_tokens,
      cache_read_input_tokens,
      output_tokens,
      output_tokens_details,
      server_tool_use,
      ...(iterations === undefined ? {} : { iterations }),
    },
    ...(edited === undefined ? {} : { context_management: edited }),
  };
  yield { type: "message_stop" };
}

export const messagesStreamFormat: StreamFormat<StreamEvent> = {
  kindOf: ({ type }) => {
    if (type === "content_block_delta") return "delta";
    if (type === "message_delta") return "closing";
    return type === "message_stop" ? "last" : "other";
  },
  textOf: (event) => JSON.stringify(event),
  failure: () => ({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
};

function* blockEvents(
  block: ReplyBlock,
  { index, rawInput }: { readonly index: number; readonly rawInput: string | undefined },
): Generator<StreamEvent> {
  yield { type: "content_block_start", index, content_block: emptyBlock(block) };
  switch (block.type) {
    case "text":
      for (const text of textPieces(block.text))
        yield { type: "content_block_delta", index, delta: { type: "text_delta", text } };
      break;
    case "thinking":
      for (const thinking of textPieces(block.thinking))
        yield { type: "content_block_delta", index, delta: { type: "thinking_delta", thinking } };
      yield {
        type: "content_block_delta",
        index,
        delta: { type: "signature_delta", signature: block.signature },
      };
      break;
    case "tool_use":
      // An empty piece comes first, as from the API.
      yield { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: "" } };
      for (const partial_json of textPieces(rawInput ?? JSON.stringify(block.input)))
        yield { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } };
      break;
    case "compaction": {
      const { content, encrypted_content } = block;
      yield {
        type: "content_block_delta",
        index,
        delta: { type: "compaction_delta", content, encrypted_content },
      };
      break;
    }
    case "redacted_thinking":
      break;
  }
  yield { type: "content_block_stop", index };
}

function emptyBlock(block: ReplyBlock): ReplyBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: "" };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "tool_use":
      return { ...block, input: {} };
    case "compaction":
      return { ...block, content: null, encrypted_content: null };
    case "redacted_thinking":
      return block;
  }
}
