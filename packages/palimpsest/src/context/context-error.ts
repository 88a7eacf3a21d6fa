import type { WriteFailure } from "../ports/blobs.ts";
import type { ModelFailure } from "../ports/model.ts";

/**
 * Why a call of a context failed. `store`: nothing was accepted, and the same call may be tried again. The others say what
 * the caller did out of order, or has to make smaller.
 */
export type ContextErrorCode =
  | "store"
  | "busy"
  | "missing"
  | "not-sendable"
  | "over-limit"
  | "no-request"
  | "unknown-call"
  | "unknown-entry"
  | "bad-option"
  | "broken-reply"
  | "aborted"
  | "closed";

export class ContextError extends Error {
  override readonly name = "ContextError";
  readonly code: ContextErrorCode;

  /** Of a reply that broke off: what the provider said. */
  readonly failure: ModelFailure | undefined;

  constructor(code: ContextErrorCode, message: string, { failure }: { readonly failure?: ModelFailure } = {}) {
    super(message);
    this.code = code;
    this.failure = failure;
  }
}

export const refusedByStore = ({ message }: WriteFailure): ContextError => new ContextError("store", message);

/** Throws where the store refused it. */
export function throwIfFailed(outcome: { readonly kind: "appended" } | WriteFailure | undefined): void {
  if (outcome?.kind === "failed") throw refusedByStore(outcome);
}
