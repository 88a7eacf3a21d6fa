import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "@anthropic-ai/sdk";
import type { ClockDep } from "../../ports/clock.ts";
import type { ModelFailure } from "../../ports/model.ts";
import {
  abortedFailure,
  connectionFailure,
  failureOf,
  type FailureRule,
  oneLine,
  type ServerError,
} from "../failure.ts";

/** Besides requests that are too long, which `overflow.ts` knows. An error inside a stream has a type and no status. */
const rules: readonly FailureRule[] = [
  { codes: ["enforced_spend_limit_reached"], why: "spend-limit", retry: "never" },
  { says: /specified API usage limits/i, why: "spend-limit", retry: "never" },
  { says: /credit balance is too low/i, why: "spend-limit", retry: "never" },
  { types: ["billing_error"], why: "spend-limit", retry: "never" },
  { types: ["authentication_error"], why: "unauthorised", retry: "never" },
  { types: ["permission_error"], why: "unauthorised", retry: "never" },
  { types: ["not_found_error"], why: "not-found", retry: "never" },
  { types: ["rate_limit_error"], why: "rate-limited", retry: "later" },
  { types: ["overloaded_error"], why: "overloaded", retry: "later" },
  { types: ["timeout_error"], why: "timeout", retry: "later" },
  { types: ["api_error"], why: "server", retry: "later" },
  // Another request holds what this one needs.
  { types: ["conflict_error"], why: "server", retry: "later" },
  // A proxy in between speaks in statuses alone.
  { statuses: [401, 403, 407], why: "unauthorised", retry: "never" },
  { statuses: [402], why: "spend-limit", retry: "never" },
  { statuses: [404], why: "not-found", retry: "never" },
  { statuses: [408, 504], why: "timeout", retry: "later" },
  { statuses: [409], why: "server", retry: "later" },
  { statuses: [429], why: "rate-limited", retry: "later" },
  { statuses: [503, 529], why: "overloaded", retry: "later" },
  // Some proxies call every error so: the status says more.
  { types: ["invalid_request_error"], why: "refused", retry: "never" },
];

/** What an error of the SDK, or of the connection beneath it, means. */
export function classify({ now }: ClockDep, error: unknown): ModelFailure {
  if (error instanceof APIUserAbortError) return abortedFailure;
  if (error instanceof APIConnectionTimeoutError) return { why: "timeout", retry: "later", message: error.message };
  if (error instanceof APIConnectionError) return connectionFailure(error);
  if (isApiError(error)) return failureOf({ rules, now }, serverErrorOf(error));
  // The SDK sends nothing without a key.
  if (error instanceof Error && /authentication method/i.test(error.message)) {
    return { why: "unauthorised", retry: "never", message: oneLine(error.message) };
  }
  return connectionFailure(error);
}

const isApiError = (error: unknown): error is APIError => error instanceof APIError;

const serverErrorOf = (error: APIError): ServerError => ({
  status: error.status,
  type: error.type ?? undefined,
  code: error.errorCode ?? undefined,
  message: typeof error.apiMessage === "string" ? error.apiMessage : error.message,
  headers: error.headers,
  requestId: error.requestID ?? undefined,
});
