import { oneLine } from "../text/to-printable.ts";
import { type Millis, millis } from "../schema/brand.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import { failureMessageCharsMax } from "./limits.ts";
import { detectOverflow } from "./overflow.ts";
import type { ClockDep } from "../ports/clock-dep.ts";
import type { LeftOutPart } from "../schema/edit.ts";

/** A server's error response, or an error event in its stream. */
export interface ServerError {
  /** Undefined for an error inside a stream that started successfully. */
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly code: string | undefined;
  /** Empty if the server sent none. */
  readonly message: string;
  readonly headers: Headers | undefined;
  readonly requestId: string | undefined;
}

/** A rule matches if all of its conditions hold. */
export interface FailureRule {
  readonly statuses?: readonly number[];
  readonly types?: readonly string[];
  readonly codes?: readonly string[];
  readonly says?: RegExp;
  readonly why: ModelFailure["why"];
  readonly retry: ModelFailure["retry"];
}

interface ClassifyDeps extends ClockDep {
  /** The first rule that matches counts. */
  readonly rules: readonly FailureRule[];
}

export function classifyServerError({ rules, now }: ClassifyDeps, error: ServerError): ModelFailure {
  const { status, requestId, headers } = error;
  const overflow = detectOverflow({ ...error, code: error.code ?? error.type });
  const verdict =
    overflow === undefined ? (rules.find((rule) => matchesRule(rule, error)) ?? unknownFailure(status)) : tooLong;
  const beside = verdict.why === "refused" ? findRefusedBeside(error.message) : undefined;
  const mayNamePart = !isAboutTheSender(verdict) && overflow === undefined && beside === undefined;
  const part = mayNamePart ? findRefusedPart(error) : undefined;
  const { why, retry } = part === undefined ? verdict : refused;
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

/** The error is about the account or the request rate: a different request body would not help, whatever the message mentions. */
const isAboutTheSender = ({ why }: Pick<ModelFailure, "why">): boolean =>
  why === "unauthorised" || why === "spend-limit" || why === "rate-limited" || why === "overloaded";

/** A request that was refused for an unknown reason will be refused again; a server with an internal error may recover. */
const unknownFailure = (status: number | undefined): Pick<ModelFailure, "why" | "retry"> =>
  status !== undefined && status < 500 ? { why: "refused", retry: "never" } : { why: "server", retry: "later" };

const matchesRule = (rule: FailureRule, { status, type, code, message }: ServerError): boolean =>
  (rule.statuses === undefined || (status !== undefined && rule.statuses.includes(status))) &&
  (rule.types === undefined || (type !== undefined && rule.types.includes(type))) &&
  (rule.codes === undefined || (code !== undefined && rule.codes.includes(code))) &&
  (rule.says === undefined || rule.says.test(message));

/** A date is compared with the server's own clock if it sends its time. */
function retryAfterMs(headers: Headers | undefined, now: () => Millis): Millis | undefined {
  const inMillis = headers?.get("retry-after-ms") ?? "";
  if (isAmount(inMillis)) return millis(Number(inMillis));
  const after = headers?.get("retry-after") ?? "";
  if (isAmount(after)) return millis(Number(after) * 1_000);
  const date = Date.parse(after);
  if (Number.isNaN(date)) return undefined;
  const serverNow = Date.parse(headers?.get("date") ?? "");
  return millis(Math.max(0, date - (Number.isNaN(serverNow) ? now() : serverNow)));
}

const isAmount = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text.trim());

/** Messages without information: the SDKs' text for an empty body (after the status), and HTML or XML pages. */
const uninformativeMessage = /^(?:status code \(no body\)|<(?:!doctype|html|\?xml).*|)$/i;

function failureMessage({ message, status }: ServerError): string {
  const line = toMessageLine(message.replace(/^\d{3} /, ""));
  if (!uninformativeMessage.test(line)) return line;
  return status === undefined ? "The server broke off without a reason." : `The server answered ${status}.`;
}

export function toMessageLine(text: string): string {
  const line = oneLine(text).trim();
  return line.length > failureMessageCharsMax ? `${line.slice(0, failureMessageCharsMax - 1)}…` : line;
}

/** Errors that another try can't change: a bad certificate, an invalid address. */
const permanentErrorCode = /^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_INVALID_URL)/;
/** Addresses that `fetch` refuses without an error code: a port reserved for another service, an unknown scheme. */
const refusedAddress = /^(?:bad port|unknown scheme)$/;
const timeoutCode = /TIMEOUT|TIMEDOUT/;

/** For an error of the connection itself, when there was no response. */
export function connectionFailure(error: unknown): ModelFailure {
  const { code, message } = rootCause(error);
  if (timeoutCode.test(code)) return { why: "timeout", retry: "later", message: `No answer in time: ${message}` };
  return {
    why: "network",
    retry: permanentErrorCode.test(code) || refusedAddress.test(message) ? "never" : "later",
    message: toMessageLine(`The connection failed: ${message}`),
  };
}

export const brokenStream = (message: string): ModelFailure => ({
  why: "broken-stream",
  retry: "later",
  message: toMessageLine(message),
});

export const abortedFailure: ModelFailure = { why: "aborted", retry: "never", message: "Stopped." };

export const timeoutFailure = (silenceMs: Millis): ModelFailure => ({
  why: "timeout",
  retry: "later",
  message: `Nothing came from the server for ${Math.ceil(silenceMs / 1_000)} seconds.`,
});

/** Clients wrap errors; the innermost error says what happened. */
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

/**
 * Classifies an error that the host's own client threw, or an object with a status and a body. Reads only its fields,
 * because an SDK may be installed twice, and `instanceof` would then fail.
 */
export function classifyThrown({ rules, now }: ClassifyDeps, error: unknown): ModelFailure {
  if (!isRecord(error)) return connectionFailure(error);
  if (error["name"] === "AbortError" || error["name"] === "APIUserAbortError") return abortedFailure;
  const body = innerError(error["error"] ?? error["body"]);
  if (numberIn(error, "status") === undefined && body === undefined) return connectionFailure(error);
  return classifyServerError({ rules, now }, readServerError(error, body));
}

function readServerError(error: Fields, body: Fields | undefined): ServerError {
  const bodyText = typeof error["body"] === "string" ? error["body"] : undefined;
  return {
    status: numberIn(error, "status"),
    type: textIn(body, "type"),
    code: textIn(body, "code") ?? textIn(error, "code"),
    message: textIn(body, "message") ?? bodyText ?? textIn(error, "message") ?? "",
    headers: headersIn(error["headers"]),
    requestId: textIn(error, "requestID") ?? textIn(error, "request_id"),
  };
}

/** Bodies are `{ type: "error", error: { type, message } }`, or only the inner object. */
function innerError(value: unknown): Fields | undefined {
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

/** Requests that are too long are detected in `overflow.ts`. An error inside a stream has a type and no status. */
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
  // Another request holds a lock that this one needs.
  { types: ["conflict_error"], why: "server", retry: "later" },
  // A proxy in between may send only a status.
  { statuses: [401, 403, 407], why: "unauthorised", retry: "never" },
  { statuses: [402], why: "spend-limit", retry: "never" },
  { statuses: [404], why: "not-found", retry: "never" },
  { statuses: [408, 504], why: "timeout", retry: "later" },
  { statuses: [409], why: "server", retry: "later" },
  { statuses: [429], why: "rate-limited", retry: "later" },
  { statuses: [503, 529], why: "overloaded", retry: "later" },
  // Some proxies use this type for every error, so the rules for statuses come first.
  { types: ["invalid_request_error"], why: "refused", retry: "never" },
];

/** Requests that are too long are detected in `overflow.ts`. Other servers with the same API use their own codes. */
export const openaiRules: readonly FailureRule[] = [
  { codes: ["insufficient_quota", "billing_hard_limit_reached"], why: "spend-limit", retry: "never" },
  { types: ["insufficient_quota"], why: "spend-limit", retry: "never" },
  { statuses: [402], why: "spend-limit", retry: "never" },
  { codes: ["invalid_api_key"], why: "unauthorised", retry: "never" },
  { statuses: [401, 403, 407], why: "unauthorised", retry: "never" },
  { codes: ["model_not_found"], why: "not-found", retry: "never" },
  { statuses: [404], why: "not-found", retry: "never" },
  { statuses: [408, 504], why: "timeout", retry: "later" },
  // The server failed to get a lock.
  { statuses: [409], why: "server", retry: "later" },
  { codes: ["rate_limit_exceeded"], why: "rate-limited", retry: "later" },
  { statuses: [429], why: "rate-limited", retry: "later" },
  { codes: ["server_overloaded", "slow_down"], why: "overloaded", retry: "later" },
  { statuses: [503, 529], why: "overloaded", retry: "later" },
  { codes: ["content_filter", "content_policy_violation"], why: "refused", retry: "never" },
  { types: ["invalid_request_error"], why: "refused", retry: "never" },
];

interface RefusedPartRow {
  readonly part: LeftOutPart;
  readonly pattern: RegExp;
}

/** The messages by which servers refuse a part of a request that could be left out. The first match counts. */
const refusedPartRows: readonly RefusedPartRow[] = [
  {
    part: "server-summary",
    pattern: /compaction_(?:signature|content|block)|`?compaction`? block|signature.*compaction/i,
  },
  // Anthropic, its resellers, Gemini, OpenAI.
  { part: "thinking", pattern: /signature.*thinking|thinking.*signature/i },
  { part: "thinking", pattern: /thinking`? blocks?\b.*(?:cannot be modified|not supported|not allowed|bound to)/i },
  { part: "thinking", pattern: /thought[_ ]signature|invalid_encrypted_content|encrypted content.*(?:verif|decrypt)/i },
  {
    part: "media",
    pattern: /too many (?:images|documents|media|files|pdf)|at most \d+ (?:images?|documents?)|many-image/i,
  },
  {
    part: "media",
    pattern:
      /(?:could not|unable to|failed to|cannot) (?:process|decode|download|load|read|parse|identify)\b.*(?:image|document|pdf)/i,
  },
  {
    part: "media",
    pattern: /(?:image|document|pdf|media)\b.*(?:exceed|too (?:large|big|many|small)|invalid|corrupt|password|empty)/i,
  },
  {
    part: "media",
    pattern:
      /(?:images?|image_url|vision|documents?|pdfs?|multi-?modal|media)\b.*(?:not support|unsupported|only supported|not allowed|not enabled)/i,
  },
  {
    part: "media",
    pattern:
      /(?:not support|unsupported|no endpoints.*support|invalid|maximum of \d+)\b.*(?:image|vision|document|pdf|multi-?modal|media)/i,
  },
  {
    part: "other-blocks",
    pattern:
      /(?:server_tool_use|web_search|web_fetch|code_execution|mcp_tool|tool_search|container_upload|search_result|tool_reference)/i,
  },
  {
    part: "other-blocks",
    pattern: /found using 'type' does not match|(?:unknown|unsupported|invalid) content (?:block|part|type)/i,
  },
];

/** The messages that begin with the name of a request field other than `messages`. */
const besideRows: readonly { readonly beside: "tools" | "settings"; readonly pattern: RegExp }[] = [
  { beside: "tools", pattern: /^(?:tools|tool_choice)\b|^Invalid (?:schema for function|'(?:tools|tool_choice)\b)/i },
  {
    beside: "settings",
    pattern:
      /^(?:system|max_tokens|max_completion_tokens|temperature|top_p|top_k|betas|metadata|stop_sequences)(?::|\.|\[)|^thinking\.|^Unexpected value\(s\).*anthropic-beta/i,
  },
];

/** Whether an error is about the tools or the settings rather than the messages; undefined if it is about neither. */
export const findRefusedBeside = (message: string): "tools" | "settings" | undefined =>
  besideRows.find(({ pattern }) => pattern.test(message.replace(/^\d{3} /, "")))?.beside;

/** Includes 404: a proxy that routes by content sends it if no model accepts the request. */
const bodyStatuses: ReadonlySet<number> = new Set([400, 404, 415, 422, 501]);
/** Some local servers answer 500 to a request that they will never accept. */
const unsupportedWords = /not support|unsupported/i;

/** The part of the request that an error names; undefined if it names none or is about something else. */
export function findRefusedPart({
  message,
  code,
  status,
}: {
  readonly message: string;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
}): LeftOutPart | undefined {
  const isAboutBody =
    status === undefined || bodyStatuses.has(status) || (status === 500 && unsupportedWords.test(message));
  if (!isAboutBody) return undefined;
  const text = code === undefined ? message : `${code} ${message}`;
  return refusedPartRows.find(({ pattern }) => pattern.test(text))?.part;
}
