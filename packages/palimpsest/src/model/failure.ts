import { type Millis, millis } from "../schema/brand.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import { failureMessageCharsMax } from "./limits.ts";
import { detectOverflow } from "./overflow.ts";
import { findRefusedBeside, findRefusedPart } from "./find-refused-part.ts";
import type { ClockDep } from "../ports/clock-dep.ts";

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

interface ClassifyServerErrorDeps {
  /** In order: the first that fits. */
  readonly rules: readonly FailureRule[];
  readonly now: () => Millis;
}

export function classifyServerError({ rules, now }: ClassifyServerErrorDeps, error: ServerError): ModelFailure {
  const { status, requestId, headers } = error;
  const overflow = detectOverflow({ ...error, code: error.code ?? error.type });
  const ruled =
    overflow === undefined ? (rules.find((rule) => matchesRule(rule, error)) ?? unknownFailure(status)) : tooLong;
  const beside = ruled.why === "refused" ? findRefusedBeside(error.message) : undefined;
  const mayNamePart = !isAboutTheSender(ruled) && overflow === undefined && beside === undefined;
  const part = mayNamePart ? findRefusedPart(error) : undefined;
  const { why, retry } = part === undefined ? ruled : refused;
  const after = retry === "later" ? retryAfterMs(headers, now) : undefined;
  return {
    why,
    retry: headers?.get("x-should-retry") === "false" ? "never" : retry,
    message: failureMessage(error),
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
const unknownFailure = (status: number | undefined): Pick<ModelFailure, "why" | "retry"> =>
  status !== undefined && status < 500 ? { why: "refused", retry: "never" } : { why: "server", retry: "later" };

const matchesRule = (rule: FailureRule, { status, type, code, message }: ServerError): boolean =>
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

function failureMessage({ message, status }: ServerError): string {
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
  const { code, message } = rootCause(error);
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
function rootCause(error: unknown): { readonly code: string; readonly message: string } {
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

interface ClassifyThrownDeps extends ClockDep {
  readonly rules: readonly FailureRule[];
}

/**
 * What an error means that somebody else's client threw, or a status with a body. Looks at its fields alone: an SDK may be
 * installed twice, and then its classes are others.
 */
export function classifyThrown({ rules, now }: ClassifyThrownDeps, error: unknown): ModelFailure {
  if (!isRecord(error)) return connectionFailure(error);
  if (error["name"] === "AbortError" || error["name"] === "APIUserAbortError") return abortedFailure;
  const said = innermost(error["error"] ?? error["body"]);
  if (numberIn(error, "status") === undefined && said === undefined) return connectionFailure(error);
  return classifyServerError({ rules, now }, readServerError(error, said));
}

function readServerError(error: Fields, said: Fields | undefined): ServerError {
  const bodyText = typeof error["body"] === "string" ? error["body"] : undefined;
  return {
    status: numberIn(error, "status"),
    type: textIn(said, "type"),
    code: textIn(said, "code") ?? textIn(error, "code"),
    message: textIn(said, "message") ?? bodyText ?? textIn(error, "message") ?? "",
    headers: headersIn(error["headers"]),
    requestId: textIn(error, "requestID") ?? textIn(error, "request_id"),
  };
}

/** Bodies are `{ type: "error", error: { type, message } }`, or the inner part of that. */
function innermost(value: unknown): Fields | undefined {
  const fields = typeof value === "string" ? parseOrUndefined(value) : value;
  if (!isRecord(fields)) return undefined;
  return isRecord(fields["error"]) ? fields["error"] : fields;
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headersIn(value: unknown): Headers | undefined {
  if (value instanceof Headers) return value;
  if (!isRecord(value)) return undefined;
  const pairs = Object.entries(value).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return new Headers(pairs);
}

type Fields = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Fields => typeof value === "object" && value !== null;

const textIn = (fields: Fields | undefined, name: string): string | undefined =>
  typeof fields?.[name] === "string" ? fields[name] : undefined;

const numberIn = (fields: Fields, name: string): number | undefined =>
  typeof fields[name] === "number" ? fields[name] : undefined;

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
