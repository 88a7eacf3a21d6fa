import type { FailureRule } from "../failure.ts";

/** Besides requests that are too long, which `overflow.ts` knows. Servers that only speak the form use their own codes. */
export const openaiRules: readonly FailureRule[] = [
  { codes: ["insufficient_quota", "billing_hard_limit_reached"], why: "spend-limit", retry: "never" },
  { types: ["insufficient_quota"], why: "spend-limit", retry: "never" },
  { statuses: [402], why: "spend-limit", retry: "never" },
  { codes: ["invalid_api_key"], why: "unauthorised", retry: "never" },
  { statuses: [401, 403, 407], why: "unauthorised", retry: "never" },
  { codes: ["model_not_found"], why: "not-found", retry: "never" },
  { statuses: [404], why: "not-found", retry: "never" },
  { statuses: [408, 504], why: "timeout", retry: "later" },
  // A lock of the server's own.
  { statuses: [409], why: "server", retry: "later" },
  { codes: ["rate_limit_exceeded"], why: "rate-limited", retry: "later" },
  { statuses: [429], why: "rate-limited", retry: "later" },
  { codes: ["server_overloaded", "slow_down"], why: "overloaded", retry: "later" },
  { statuses: [503, 529], why: "overloaded", retry: "later" },
  { codes: ["content_filter", "content_policy_violation"], why: "refused", retry: "never" },
  { types: ["invalid_request_error"], why: "refused", retry: "never" },
];
