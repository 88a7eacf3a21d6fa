import { headingOf } from "./sections.ts";
import { faultCharsMax } from "./limits.ts";

/** Why a reply is not taken for a summary. */
export type BadSummary =
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

/** One line for a person. */
export function badSummaryText(why: BadSummary): string {
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
      return "What came in place of a summary is an error of the provider.";
    case "cut-off":
      return "The summary broke off: its reply reached its limit of tokens.";
    case "no-summary":
      return "What the summariser wrote is no summary: it has neither the tags nor the headings.";
    case "repeated":
      return "The summariser repeated the last reply instead of writing a summary.";
    case "too-long":
      return "The summary is several times longer than it may be.";
    case "not-smaller":
      return "The summary is not smaller than what it would replace.";
  }
}

/** Faults that show in the words themselves, wherever they came from. */
export function faultOf(text: string): "empty" | "refusal" | "provider-error" | undefined {
  const said = text.trim();
  if (!/[\p{L}\p{N}]/u.test(said)) return "empty";
  // A summary tells of errors and refusals under its headings; what stands in place of one is short and has none.
  if (said.length > faultCharsMax || holdsSection(said)) return undefined;
  if (providerErrors.some((form) => form.test(said))) return "provider-error";
  return refusals.some((form) => form.test(said)) ? "refusal" : undefined;
}

const holdsSection = (text: string): boolean => text.split("\n").some((line) => headingOf(line)?.title !== undefined);

/** How clients, gateways and providers put an error where a reply should be. */
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
