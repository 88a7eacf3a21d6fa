import { type Millis, millis } from "../schema/brand.ts";
import type { ModelFailure } from "../ports/model.ts";
import { failureMessageCharsMax } from "./limits.ts";
import { overflowOf } from "./overflow.ts";
import { refusedBeside, refusedPart } from "./refused-part.ts";

/** What a server said instead of a reply. */
export interface ServerError {
  /** Absent for an error inside a stream that began well. */
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  /** Empty where it said nothing. */
  readonly message: string;
  readonly headers: Headers | undefined;
  readonly requestId: string | undefined;
}

/** Every condition that a rule states must hold. */
export interface FailureRule {
  readonly statuses?: readonly number[];
  readonly types?: readonly string[];
  readonly codes?: readonly string[];
  readonly says?: RegExp;
  readonly why: ModelFailure["why"];
  readonly retry: ModelFailure["retry"];
}

export interface FailureDeps {
  /** In order: the first that fits. */
  readonly rules: readonly FailureRule[];
  readonly now: () => Millis;
}

export function failureOf({ rules, now }: FailureDeps, error: ServerError): ModelFailure {
  const { status, requestId, headers } = error;
  const overflow = overflowOf({ ...error, code: error.code ?? error.type });
  const ruled = overflow === undefined ? (rules.find((rule) => fits(rule, error)) ?? unknown(status)) : tooLong;
  const beside = ruled.why === "refused" ? refusedBeside(error.message) : undefined;
  const mayNamePart = !isAboutTheSender(ruled) && overflow === undefined && beside === undefined;
  const part = mayNamePart ? refusedPart(error) : undefined;
  const { why, retry } = part === undefined ? ruled : refused;
  const after = retry === "later" ? retryAfterMs(headers, now) : undefined;
  return {
    why,
    retry: headers?.get("x-should-retry") === "false" ? "never" : retry,
    message: messageOf(error),
    ...overflow,
    ...(part === undefined ? {} : { part }),
    ...(beside === undefined ? {} : { beside }),
    ...(after === undefined ? {} : { retryAfterMs: after }),
    ...(status === undefined ? {} : { status }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

const tooLong = { why: "too-long", retry: "never" } as const;
const refused = { why: "refused", retry: "never" } as const;

/** Who asks, and how often: whatever such an answer names, another body would not change it. */
const isAboutTheSender = ({ why }: Pick<ModelFailure, "why">): boolean =>
  why === "unauthorised" || why === "spend-limit" || why === "rate-limited" || why === "overloaded";

/** A request that is refused for a reason we do not know will be refused again; a server in trouble may recover. */
const unknown = (status: number | undefined): Pick<ModelFailure, "why" | "retry"> =>
  status !== undefined && status < 500 ? { why: "refused", retry: "never" } : { why: "server", retry: "later" };

const fits = (rule: FailureRule, { status, type, code, message }: ServerError): boolean =>
  (rule.statuses === undefined || (status !== undefined && rule.statuses.includes(status))) &&
  (rule.types === undefined || (type !== undefined && rule.types.includes(type))) &&
  (rule.codes === undefined || (code !== undefined && rule.codes.includes(code))) &&
  (rule.says === undefined || rule.says.test(message));

/** A date is compared with the server's own clock where it tells the time. */
function retryAfterMs(headers: Headers | undefined, now: () => Millis): Millis | undefined {
  const inMillis = headers?.get("retry-after-ms") ?? "";
  if (isAmount(inMillis)) return millis(Number(inMillis));
  const after = headers?.get("retry-after") ?? "";
  if (isAmount(after)) return millis(Number(after) * 1_000);
  const date = Date.parse(after);
  if (Number.isNaN(date)) return undefined;
  const told = Date.parse(headers?.get("date") ?? "");
  return millis(Math.max(0, date - (Number.isNaN(told) ? now() : told)));
}

const isAmount = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text.trim());

/** SDKs put the status in front of what they can't read, and have words of their own for nothing. */
const wordlessForm = /^(?:status code \(no body\)|<(?:!doctype|html|\?xml).*|)$/i;

function messageOf({ message, status }: ServerError): string {
  const line = oneLine(message.replace(/^\d{3} /, ""));
  if (!wordlessForm.test(line)) return line;
  return status === undefined ? "The server broke off without a reason." : `The server answered ${status}.`;
}

export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > failureMessageCharsMax ? `${line.slice(0, failureMessageCharsMax - 1)}…` : line;
}

/** Nothing a second try could change: a certificate, an address that is none. */
const lastingTrouble = /^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_INVALID_URL)/;
/** What `fetch` itself refuses to ask, without a code: a port of another service, a scheme that it does not speak. */
const refusedAddress = /^(?:bad port|unknown scheme)$/;
const timeTrouble = /TIMEOUT|TIMEDOUT/;

/** For an error of the connection itself: there was no answer. */
export function connectionFailure(error: unknown): ModelFailure {
  const { code, message } = rootOf(error);
  if (timeTrouble.test(code)) return { why: "timeout", retry: "later", message: `No answer in time: ${message}` };
  return {
    why: "network",
    retry: lastingTrouble.test(code) || refusedAddress.test(message) ? "never" : "later",
    message: oneLine(`The connection failed: ${message}`),
  };
}

export const brokenStream = (message: string): ModelFailure => ({
  why: "broken-stream",
  retry: "later",
  message: oneLine(message),
});

export const abortedFailure: ModelFailure = { why: "aborted", retry: "never", message: "Stopped." };

export const timeoutFailure = (silenceMs: Millis): ModelFailure => ({
  why: "timeout",
  retry: "later",
  message: `Nothing came from the server for ${Math.ceil(silenceMs / 1_000)} seconds.`,
});

/** Clients wrap errors; the innermost one says what happened. */
function rootOf(error: unknown): { readonly code: string; readonly message: string } {
  let root = error;
  for (let depth = 0; depth < causesMax && root instanceof Error && root.cause !== undefined; depth += 1) {
    root = root.cause;
  }
  if (!(root instanceof Error)) return { code: "", message: String(root) };
  const code = "code" in root && typeof root.code === "string" ? root.code : "";
  return { code, message: root.message === "" ? code : root.message };
}

/** An error may be its own cause. */
const causesMax = 10;
