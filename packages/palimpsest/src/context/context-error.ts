import type { WriteFailure } from "../ports/blobs.ts";
import { nextTry } from "../model/next-try.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import type { ModelCallDeps } from "./deps.ts";
import type { AfterRefusal } from "./outcomes.ts";
import type { PendingRequest } from "./request/assemble-request.ts";

/**
 * Why a call of a context failed. `store`: nothing was accepted, and the same call may be tried again. The other codes
 * name a call out of order, or an input that is too large.
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
  | "no-agents"
  | "broken-reply"
  | "aborted"
  | "closed";

interface ContextErrorOptions extends ErrorOptions {
  readonly failure?: ModelFailure;
}

export class ContextError extends Error {
  override readonly name = "ContextError";
  readonly code: ContextErrorCode;

  /** The provider's error, if a reply broke off. */
  readonly failure: ModelFailure | undefined;

  constructor(code: ContextErrorCode, message: string, { failure, ...options }: ContextErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.failure = failure;
  }
}

export const storeError = ({ message }: WriteFailure, options?: ErrorOptions): ContextError =>
  new ContextError("store", message, options);

export function throwIfFailed(outcome: { readonly kind: "appended" } | WriteFailure | undefined): void {
  if (outcome?.kind === "failed") throw storeError(outcome);
}

/** Why there is no request. */
type NotPrepared =
  | WriteFailure
  | { readonly kind: "aborted" }
  | { readonly kind: "not-sendable"; readonly why: { readonly text: string } }
  | ({ readonly kind: "over-limit" } & Excess);

interface Excess {
  readonly tokens: number;
  readonly limit: number;
}

export function notPreparedError(prepared: NotPrepared): ContextError {
  switch (prepared.kind) {
    case "failed":
      return storeError(prepared);
    case "aborted":
      return new ContextError("aborted", "The request was not prepared: it was aborted.");
    case "not-sendable":
      return new ContextError("not-sendable", `There is no request to send: ${prepared.why.text}`);
    case "over-limit":
      return new ContextError("over-limit", overLimitText(prepared));
  }
}

const overLimitText = ({ tokens, limit }: Excess): string =>
  `The request needs ${tokens} tokens; at most ${limit} fit. The system prompt, the tools or a single message is too large ` +
  "to summarize: shorten it, or raise contextTokens.";

interface FailedTry {
  readonly failure: ModelFailure;
  /** Counted from 1. */
  readonly attempt: number;
  /** How many simpler requests were refused as well. */
  readonly tried: number;
}

/** Whether the same request may be sent again, and when. */
export function decideRetry(
  { random, retries }: Pick<ModelCallDeps, "random" | "retries">,
  { failure, attempt, tried }: FailedTry,
): AfterRefusal {
  const next = nextTry({ failure, attempt, random: random(), limits: retries });
  if (next.kind === "wait") return { kind: "retry", afterMs: next.ms, because: failure.message };
  const simplified = tried === 0 ? "" : " A simplified request was refused as well.";
  return { kind: "stop", advice: `${next.message}${simplified}` };
}

export function requireSent({ sent }: { readonly sent: PendingRequest | undefined }): PendingRequest {
  if (sent === undefined)
    throw new ContextError("no-request", "A reply belongs to a request: call next() before assistant().");
  return sent;
}

export const openCallsText = "Some calls still wait for their results. Pass the results first, then compact.";

/**
 * Is it an error of the caller's own code, which no other request would fix? A client that can't reach its server throws
 * a `TypeError` too, but that one has a `cause`.
 */
export function isCallerError(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return true;
  if (!(error instanceof Error) || error.cause !== undefined || "code" in error) return false;
  const isBuiltin = [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => error.constructor === kind);
  return isBuiltin && !/fetch|network|terminated|socket/i.test(error.message);
}
