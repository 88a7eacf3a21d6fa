import { ContextError, overLimitText, storeError } from "./context-error.ts";
import type { PrepareOutcome } from "./request/prepare-request.ts";

/** Why there is no next request. */
export function unpreparedError(outcome: Exclude<PrepareOutcome, { kind: "request" }>): ContextError {
  switch (outcome.kind) {
    case "failed":
      return storeError(outcome);
    case "aborted":
      return new ContextError("aborted", "The request was not prepared: it was aborted.");
    case "not-sendable":
      return new ContextError("not-sendable", `There is no request to send: ${outcome.why.text}`);
    case "over-limit":
      return new ContextError("over-limit", overLimitText(outcome));
  }
}
