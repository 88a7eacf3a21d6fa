import type { JsonObject } from "../json.ts";
import type { ExtensionReply } from "./extension.ts";

/** Usage in a reply of the Messages API. */
export interface WireUsage extends SampledUsage {
  /** With a compaction beta. Tokens of a compaction are only listed here: the totals leave them out. */
  readonly iterations?: readonly IterationUsage[];
  readonly output_tokens_details: { readonly thinking_tokens: number } | null;
  readonly server_tool_use: null;
  readonly service_tier: "standard";
  readonly inference_geo: string | null;
  readonly speed: "standard" | "fast";
}

/** Usage of one run of the model. */
export interface SampledUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens: number;
}

export type IterationUsage =
  | (SampledUsage & { readonly type: "message"; readonly model: string })
  | (SampledUsage & { readonly type: "compaction" });

export type ReplyBlock =
  | { readonly type: "text"; readonly text: string; readonly citations: null }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: JsonObject;
      readonly caller: { readonly type: "direct" };
    }
  | CompactionReply;

export type CompactionReply = {
  readonly type: "compaction";
  /** Null if the compaction failed. */
  readonly content: string | null;
  readonly encrypted_content: string | null;
  readonly signature?: string;
  /** Blocks as in a request (`toolChange` in wire-tool.ts). */
  readonly tool_changes?: readonly JsonObject[];
};

export type AppliedEdit =
  | {
      readonly type: "clear_tool_uses_20250919";
      readonly cleared_tool_uses: number;
      readonly cleared_input_tokens: number;
    }
  | {
      readonly type: "clear_thinking_20251015";
      readonly cleared_thinking_turns: number;
      readonly cleared_input_tokens: number;
    };

export const stopReasons = [
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "compaction",
  "refusal",
  "model_context_window_exceeded",
] as const;
export type StopReason = (typeof stopReasons)[number];

export type CacheMissReason =
  | {
      readonly type: "model_changed" | "system_changed" | "tools_changed" | "messages_changed";
      readonly cache_missed_input_tokens: number;
    }
  | { readonly type: "previous_message_not_found" | "unavailable" };

export interface InputTransformation {
  readonly type: "thinking_dropped" | "thinking_mismatch_allowed";
  /** `messages.3.content.0` */
  readonly path: string;
  readonly reason: "model_binding_mismatch" | "prefix_binding_mismatch";
}

/** A reply of the Messages API as the simulator writes it and a client reads it. */
export interface ReplyMessage extends ExtensionReply {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly ReplyBlock[];
  readonly stop_reason: StopReason | null;
  readonly stop_sequence: string | null;
  readonly stop_details: null;
  readonly container: null;
  readonly usage: WireUsage;
  /** Absent unless requested; null on a first turn and if nothing diverged. */
  readonly diagnostics?: { readonly cache_miss_reason: CacheMissReason | null } | null;
  readonly input_transformations?: readonly InputTransformation[];
  /**
   * Present if the request asked for edits, even if none was made; null at the start of a stream, which reports them at
   * its end.
   */
  readonly context_management?: { readonly applied_edits: readonly AppliedEdit[] } | null;
}

/** The reply of `count_tokens`. */
export interface CountReply {
  readonly input_tokens: number;
  /** Present if the request asked for edits. */
  readonly context_management?: { readonly original_input_tokens: number };
}

export type StreamEvent =
  | { readonly type: "message_start"; readonly message: ReplyMessage }
  | { readonly type: "content_block_start"; readonly index: number; readonly content_block: ReplyBlock }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: BlockDelta }
  | { readonly type: "content_block_stop"; readonly index: number }
  | {
      readonly type: "message_delta";
      readonly delta: Pick<ReplyMessage, "stop_reason" | "stop_sequence" | "stop_details" | "container">;
      readonly usage: Omit<WireUsage, "cache_creation" | "service_tier" | "inference_geo" | "speed">;
      readonly context_management?: ReplyMessage["context_management"];
    }
  | { readonly type: "message_stop" }
  | { readonly type: "ping" }
  | { readonly type: "error"; readonly error: { readonly type: string; readonly message: string } };

type BlockDelta =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "input_json_delta"; readonly partial_json: string }
  | { readonly type: "thinking_delta"; readonly thinking: string }
  | { readonly type: "signature_delta"; readonly signature: string }
  | { readonly type: "compaction_delta"; readonly content: string | null; readonly encrypted_content: string | null };

/** HTTP status of a refused request. SDKs choose their error class by status and `error_code`. */
export const statusByErrorType = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
} as const;

export type ErrorType = keyof typeof statusByErrorType;

export interface ErrorBody {
  readonly type: "error";
  readonly error: {
    readonly type: ErrorType;
    readonly message: string;
    readonly details?: { readonly error_code: string; readonly unsupported?: readonly string[] };
  };
  readonly request_id: string | null;
}
