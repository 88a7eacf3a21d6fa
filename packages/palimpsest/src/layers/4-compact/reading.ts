import type { Block } from "../../schema/block.ts";
import { isThinking } from "../../transcript/sent.ts";
import { type BadSummary, faultOf } from "./bad-summary.ts";
import { headingOf } from "./sections.ts";

export interface SummaryReply {
  readonly text: string;
  /** Undefined where whoever asked the model does not tell it. */
  readonly stopReason: string | undefined;
  readonly blocks: readonly Block[];
}

export type SummaryReading =
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "bad"; readonly why: BadSummary };

/**
 * The summary in a reply, without the analysis unless that is kept. Tags may be missing or left open: what stands under
 * our headings is a summary too. Whether it is a good one is for the gate to say.
 */
export function readSummary(reply: SummaryReply, analysis: "stripped" | "kept" = "stripped"): SummaryReading {
  const { text, stopReason } = reply;
  if (stopReason === "refusal") return { kind: "bad", why: "refusal" };
  const found = summaryIn(text);
  if (found === undefined) return { kind: "bad", why: whyNone(reply) };
  if (found.end === "open" && holdsCall(reply)) return { kind: "bad", why: "tool-call" };
  if (found.end === "open" && isCutOff(stopReason)) return { kind: "bad", why: "cut-off" };
  const fault = faultOf(found.text);
  if (fault !== undefined) return { kind: "bad", why: fault };
  const notes = analysis === "kept" ? analysisIn(text) : "";
  return { kind: "summary", text: notes === "" ? found.text : `## Analysis\n${notes}\n\n${found.text}` };
}

function whyNone(reply: SummaryReply): BadSummary {
  const { text, stopReason, blocks } = reply;
  if (holdsCall(reply)) return "tool-call";
  const fault = faultOf(withoutAnalysis(text));
  if (fault === "empty") return isOnlyThinking(text, blocks) ? "only-thinking" : "empty";
  return fault ?? (isCutOff(stopReason) ? "cut-off" : "no-summary");
}

const holdsCall = ({ stopReason, blocks }: SummaryReply): boolean =>
  stopReason === "tool_use" ||
  blocks.some(({ type }) => type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use");

/** In blocks or, where nothing follows it, in the scratchpad. */
const isOnlyThinking = (text: string, blocks: readonly Block[]): boolean =>
  blocks.some((block) => isThinking(block)) || openAnalysis.test(text);

const isCutOff = (stopReason: string | undefined): boolean =>
  stopReason === "max_tokens" || stopReason === "model_context_window_exceeded";

interface Found {
  readonly text: string;
  /** `open`: nothing says that it is whole. */
  readonly end: "closed" | "open";
}

/** Tags count at the start of a line: code and prose speak of them too. */
const openAnalysis = /^[^\S\n]*<\s*analysis\s*>/im;
const closeAnalysis = /<\s*\/\s*analysis\s*>/i;
const openSummary = /^[^\S\n]*<\s*summary\s*>/im;
const closeSummary = /<\s*\/\s*summary\s*>/gi;
const inlineSummary = /<\s*summary\s*>/i;

function summaryIn(text: string): Found | undefined {
  const body = withoutAnalysis(text);
  // In the middle of a line it counts where it is closed again.
  const lastClose = [...body.matchAll(closeSummary)].at(-1)?.index ?? 0;
  const open = openSummary.exec(body) ?? inlineSummary.exec(body.slice(0, lastClose));
  if (open !== null) return whole(body.slice(open.index + open[0].length));
  const headed = fromFirstHeading(body);
  return headed === undefined ? undefined : whole(headed);
}

/** The last closing tag is the summary's own: earlier ones stand in what it quotes. */
function whole(inner: string): Found {
  const close = [...inner.matchAll(closeSummary)].at(-1);
  if (close === undefined) return { text: inner.trim(), end: "open" };
  return { text: inner.slice(0, close.index).trim(), end: "closed" };
}

/** An analysis that is never closed ends where the summary begins. */
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

/** Blank where it is not closed before the summary: nobody knows then which is which. */
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
  const first = lines.findIndex((line) => headingOf(line)?.title !== undefined);
  return first === -1 ? undefined : lines.slice(first).join("\n");
}
