import type { FailureRule } from "../failure.ts";

/** Besides requests that are too long, which `overflow.ts` knows. An error inside a stream has a type and no status. */
export const anthropicRules: readonly FailureRule[] = [
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
