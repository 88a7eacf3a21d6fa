import type { Block } from "../../../schema/block.ts";
import { isThinking } from "../../../transcript/to-wire-block.ts";
import { parseHeading } from "../summary-sections.ts";
import { faultCharsMax } from "../limits.ts";

export interface SummaryReply {
  readonly text: string;
  /** Undefined if the caller does not know it. */
  readonly stopReason: string | undefined;
  readonly blocks: readonly Block[];
}

type SummaryReadOutcome =
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "bad"; readonly why: SummaryFault };

/**
 * Finds the summary in a reply, without the analysis unless that is kept. Tags may be missing or left open: text under
 * our headings is a summary too. The gate decides whether it is a good one.
 */
export function readSummary(reply: SummaryReply, analysis: "stripped" | "kept" = "stripped"): SummaryReadOutcome {
  const { text, stopReason } = reply;
  if (stopReason === "refusal") return { kind: "bad", why: "refusal" };
  const found = summaryIn(text);
  if (found === undefined) return { kind: "bad", why: findReadFault(reply) };
  if (found.end === "open" && holdsCall(reply)) return { kind: "bad", why: "tool-call" };
  if (found.end === "open" && isCutOff(stopReason)) return { kind: "bad", why: "cut-off" };
  const fault = findFault(found.text);
  if (fault !== undefined) return { kind: "bad", why: fault };
  const notes = analysis === "kept" ? analysisIn(text) : "";
  return { kind: "summary", text: notes === "" ? found.text : `## Analysis\n${notes}\n\n${found.text}` };
}

function findReadFault(reply: SummaryReply): SummaryFault {
  const { text, stopReason, blocks } = reply;
  if (holdsCall(reply)) return "tool-call";
  const fault = findFault(withoutAnalysis(text));
  if (fault === "empty") return isOnlyThinking(text, blocks) ? "only-thinking" : "empty";
  return fault ?? (isCutOff(stopReason) ? "cut-off" : "no-summary");
}

const holdsCall = ({ stopReason, blocks }: SummaryReply): boolean =>
  stopReason === "tool_use" ||
  blocks.some(({ type }) => type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use");

/** Thinking in blocks or, if nothing follows it, in the scratchpad. */
const isOnlyThinking = (text: string, blocks: readonly Block[]): boolean =>
  blocks.some((block) => isThinking(block)) || openAnalysis.test(text);

const isCutOff = (stopReason: string | undefined): boolean =>
  stopReason === "max_tokens" || stopReason === "model_context_window_exceeded";

interface FoundSummary {
  readonly text: string;
  /** `open`: it may be incomplete. */
  readonly end: "closed" | "open";
}

/** Tags count at the start of a line, because code and prose mention them too. */
const openAnalysis = /^[^\S\n]*<\s*analysis\s*>/im;
const closeAnalysis = /<\s*\/\s*analysis\s*>/i;
const openSummary = /^[^\S\n]*<\s*summary\s*>/im;
const closeSummary = /<\s*\/\s*summary\s*>/gi;
const inlineSummary = /<\s*summary\s*>/i;

function summaryIn(text: string): FoundSummary | undefined {
  const body = withoutAnalysis(text);
  // In the middle of a line a tag counts if it is closed.
  const lastClose = [...body.matchAll(closeSummary)].at(-1)?.index ?? 0;
  const open = openSummary.exec(body) ?? inlineSummary.exec(body.slice(0, lastClose));
  if (open !== null) return closeSummaryText(body.slice(open.index + open[0].length));
  const headed = fromFirstHeading(body);
  return headed === undefined ? undefined : closeSummaryText(headed);
}

/** The last closing tag belongs to the summary; earlier ones are in what it quotes. */
function closeSummaryText(inner: string): FoundSummary {
  const close = [...inner.matchAll(closeSummary)].at(-1);
  if (close === undefined) return { text: inner.trim(), end: "open" };
  return { text: inner.slice(0, close.index).trim(), end: "closed" };
}

/** An analysis that is not closed ends where the summary begins. */
function withoutAnalysis(text: string): string {
  const open = openAnalysis.exec(text);
  const summary = openSummary.exec(text);
  if (open === null || (summary !== null && summary.index < open.index)) return text;
  const before = text.slice(0, open.index);
  const rest = text.slice(open.index + open[0].length);
  const close = closeAnalysis.exec(rest);
  const summaryAt = openSummary.exec(rest)?.index ?? Number.POSITIVE_INFINITY;
  if (close !== null && close.index < summaryAt) return before + rest.slice(close.index + close[0].length);
  return before + (Number.isFinite(summaryAt) ? rest.slice(summaryAt) : (fromFirstHeading(rest) ?? ""));
}

/** Empty if the analysis is not closed before the summary: then the two can't be told apart. */
function analysisIn(text: string): string {
  const open = openAnalysis.exec(text);
  if (open === null) return "";
  const rest = text.slice(open.index + open[0].length);
  const close = closeAnalysis.exec(rest);
  const summaryAt = openSummary.exec(rest)?.index ?? Number.POSITIVE_INFINITY;
  return close === null || close.index > summaryAt ? "" : rest.slice(0, close.index).trim();
}

function fromFirstHeading(text: string): string | undefined {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => parseHeading(line)?.title !== undefined);
  return first === -1 ? undefined : lines.slice(first).join("\n");
}

/** Why a reply is not taken for a summary. */
export type SummaryFault =
  | "empty"
  | "only-thinking"
  | "tool-call"
  | "refusal"
  | "provider-error"
  | "cut-off"
  | "no-summary"
  | "repeated"
  | "too-long"
  | "not-smaller";

/** One line for the user. */
export function formatSummaryFault(why: SummaryFault): string {
  switch (why) {
    case "empty":
      return "The summariser answered nothing.";
    case "only-thinking":
      return "The summariser thought and wrote nothing.";
    case "tool-call":
      return "The summariser called a tool instead of writing a summary.";
    case "refusal":
      return "The summariser refused to write a summary.";
    case "provider-error":
      return "The provider returned an error instead of a summary.";
    case "cut-off":
      return "The summary broke off: its reply reached its limit of tokens.";
    case "no-summary":
      return "The summariser did not write a summary: its text has neither the tags nor the headings.";
    case "repeated":
      return "The summariser repeated the last reply instead of writing a summary.";
    case "too-long":
      return "The summary is several times longer than it may be.";
    case "not-smaller":
      return "The summary is not smaller than what it would replace.";
  }
}

/** Faults that are visible in the text itself, whatever its source. */
export function findFault(text: string): "empty" | "refusal" | "provider-error" | undefined {
  const trimmed = text.trim();
  if (!/[\p{L}\p{N}]/u.test(trimmed)) return "empty";
  // A summary mentions errors and refusals under its headings. An error or refusal instead of a summary is short and
  // has no headings.
  if (trimmed.length > faultCharsMax || holdsSection(trimmed)) return undefined;
  if (providerErrors.some((form) => form.test(trimmed))) return "provider-error";
  return refusals.some((form) => form.test(trimmed)) ? "refusal" : undefined;
}

const holdsSection = (text: string): boolean =>
  text.split("\n").some((line) => parseHeading(line)?.title !== undefined);

/** How clients, gateways and providers report an error instead of a reply. */
const providerErrors: readonly RegExp[] = [
  /^(?:api|server|provider|upstream|gateway|connection|network|request|stream|http)[ _]?error\b/i,
  /^\W*(?:error|http)\W*(?:code\W*)?[45]\d\d\b/i,
  /^[45]\d\d\s+(?:\{|[A-Z][a-z]+)/,
  /^\{\s*"(?:type"\s*:\s*"error"|error")/,
  /^<(?:!doctype|html|\?xml)\b/i,
  /\b(?:overloaded|rate_limit|api|authentication|invalid_request|billing|permission|not_found|timeout)_error\b/,
  /^(?:prompt is too long|input is too long|request too large)\b/i,
  /^(?:internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|overloaded)\b/i,
  /^(?:credit balance is too low|invalid api key|incorrect api key|request timed out|connection (?:error|refused|reset))/i,
  /\b(?:usage|rate|quota|spend) limit (?:reached|exceeded)\b/i,
];

const refusals: readonly RegExp[] = [
  /^(?:i['’]?m|i am) (?:really |very |so )?sorry\b/i,
  /^sorry\b/i,
  /^(?:i|we) (?:can['’]?t|cannot|can not|won['’]?t|will not|am (?:not able|unable)|must (?:decline|refuse)|have to decline|decline|refuse)\b/i,
  /^(?:i['’]?m|i am) (?:not able|unable|not comfortable|afraid)\b/i,
  /^(?:unfortunately|apologies|i apologi[sz]e)\b/i,
  /^as an? (?:ai|language model)\b/i,
  /\b(?:can['’]?t|cannot|unable to) (?:help|assist|comply) with (?:that|this)\b/i,
];
