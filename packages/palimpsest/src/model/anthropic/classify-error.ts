import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "@anthropic-ai/sdk";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelFailure } from "../../ports/model-port.ts";
import {
  abortedFailure,
  connectionFailure,
  classifyServerError,
  toMessageLine,
  type ServerError,
  anthropicRules,
} from "../failure.ts";

/** Classifies an error of the SDK or of the connection below it. */
export function classifyError({ now }: ClockDep, error: unknown): ModelFailure {
  if (error instanceof APIUserAbortError) return abortedFailure;
  if (error instanceof APIConnectionTimeoutError) return { why: "timeout", retry: "later", message: error.message };
  if (error instanceof APIConnectionError) return connectionFailure(error);
  if (isApiError(error)) return classifyServerError({ rules: anthropicRules, now }, toServerError(error));
  // Without a key the SDK throws before it sends anything.
  if (error instanceof Error && /authentication method/i.test(error.message)) {
    return { why: "unauthorised", retry: "never", message: toMessageLine(error.message) };
  }
  return connectionFailure(error);
}

const isApiError = (error: unknown): error is APIError => error instanceof APIError;

const toServerError = (error: APIError): ServerError => ({
  status: error.status,
  type: error.type ?? undefined,
  code: error.errorCode ?? undefined,
  message: typeof error.apiMessage === "string" ? error.apiMessage : error.message,
  headers: error.headers,
  requestId: error.requestID ?? undefined,
});
