import { randomBytes } from "node:crypto";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { UpstreamFailure } from "../upstream/upstream.ts";
import type { ClientReply } from "./exchange.ts";

/** Why the gateway itself answers instead of the upstream. */
export type GatewayError =
  | "wrong-request"
  | "unknown-key"
  | "forbidden"
  | "not-found"
  | "slow-body"
  | "too-large"
  | "upgrade"
  | "rate-limit"
  | "spend-limit"
  | "unpriced-model"
  | "draining"
  | "loop"
  | "bug"
  | "upstream-unreachable"
  | "upstream-timeout";

interface ErrorForm {
  readonly status: number;
  readonly anthropic: string;
  readonly openai: string;
  readonly code?: string;
}

const formByError: Readonly<Record<GatewayError, ErrorForm>> = {
  "wrong-request": { status: 400, anthropic: "invalid_request_error", openai: "invalid_request_error" },
  "unknown-key": {
    status: 401,
    anthropic: "authentication_error",
    openai: "invalid_request_error",
    code: "invalid_api_key",
  },
  forbidden: { status: 403, anthropic: "permission_error", openai: "invalid_request_error", code: "forbidden" },
  "not-found": { status: 404, anthropic: "not_found_error", openai: "invalid_request_error", code: "not_found" },
  "slow-body": { status: 408, anthropic: "timeout_error", openai: "invalid_request_error", code: "timeout" },
  "too-large": { status: 413, anthropic: "request_too_large", openai: "invalid_request_error", code: "too_large" },
  upgrade: { status: 426, anthropic: "invalid_request_error", openai: "invalid_request_error", code: "no_websocket" },
  "rate-limit": { status: 429, anthropic: "rate_limit_error", openai: "requests", code: "rate_limit_exceeded" },
  "spend-limit": {
    status: 429,
    anthropic: "rate_limit_error",
    openai: "insufficient_quota",
    code: "insufficient_quota",
  },
  "unpriced-model": {
    status: 403,
    anthropic: "permission_error",
    openai: "invalid_request_error",
    code: "unpriced_model",
  },
  draining: { status: 503, anthropic: "overloaded_error", openai: "server_error", code: "server_shutting_down" },
  loop: { status: 508, anthropic: "api_error", openai: "server_error", code: "loop_detected" },
  bug: { status: 500, anthropic: "api_error", openai: "server_error" },
  "upstream-unreachable": { status: 502, anthropic: "api_error", openai: "server_error", code: "upstream_unreachable" },
  "upstream-timeout": { status: 504, anthropic: "timeout_error", openai: "server_error", code: "upstream_timeout" },
};

/** A gateway error in the provider's format, so that every client can read it. */
export interface ErrorReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

export interface ErrorReplyInput {
  readonly provider: Provider;
  readonly error: GatewayError;
  readonly message: string;
  /** Seconds; the SDKs wait that long. */
  readonly retryAfter?: number | undefined;
  /** Tells Anthropic's SDK what to do about a thread, instead of a retry. */
  readonly details?: { readonly error_code: string; readonly unsupported?: readonly string[] } | undefined;
}

export function errorReply({ provider, error, message, retryAfter, details }: ErrorReplyInput): ErrorReply {
  const { status, anthropic, openai, code = null } = formByError[error];
  const id = `req_palimpsest_${randomBytes(9).toString("hex")}`;
  const content =
    provider === "anthropic"
      ? { type: "error", error: { type: anthropic, message, details }, request_id: id }
      : { error: { message, type: openai, param: null, code } };
  const body = Buffer.from(JSON.stringify(content));
  return {
    status,
    headers: {
      "content-type": "application/json",
      "content-length": String(body.byteLength),
      [provider === "anthropic" ? "request-id" : "x-request-id"]: id,
      // Says who answered: the same status may come from the upstream.
      "x-palimpsest-error": details?.error_code ?? error,
      ...(retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(retryAfter)) }),
      // A retry can't help before midnight or a config change. The SDKs of both providers obey this header.
      ...(error === "spend-limit" || error === "loop" || details !== undefined ? { "x-should-retry": "false" } : {}),
    },
    body,
  };
}

/** Must be called before anything else is sent. */
export async function sendError(reply: ClientReply, input: ErrorReplyInput): Promise<void> {
  const { status, headers, body } = errorReply(input);
  reply.head(status, headers);
  await reply.write(body);
  await reply.end();
}

/** The error for an upstream that gave no reply at all. */
export const failureReply = (provider: Provider, { why, message }: UpstreamFailure): ErrorReplyInput => ({
  provider,
  message,
  error: errorByWhy[why],
});

const errorByWhy: Readonly<Record<UpstreamFailure["why"], GatewayError>> = {
  absent: "not-found",
  timeout: "upstream-timeout",
  unreachable: "upstream-unreachable",
  reset: "upstream-unreachable",
  // The client went away, so nobody reads this error.
  cancelled: "upstream-unreachable",
};

/** A reply that is not streamed broke off. */
export const brokenOff: UpstreamFailure = {
  kind: "failed",
  why: "reset",
  message: "The upstream closed the connection.",
};
