import { estimateFork } from "../../cache/background-budget.ts";
import type { Block, Message, ResultContent, ToolUseBlock } from "../../schema/block.ts";
import { type NanoUsd, nanoUsd } from "../../schema/brand.ts";
import { type Json, textField } from "../../schema/json.ts";
import type { Model } from "../../schema/model.ts";
import { safeCutIndex } from "../../text/safe-cut-index.ts";
import { oneLine } from "../../text/to-printable.ts";
import {
  excerptCharsMax,
  excerptFieldCharsMax,
  excerptFieldsMax,
  excerptTextCharsMax,
  newestMessagesMax,
  progressFailuresMax,
  progressMessagesMin,
  progressShareMax,
  usualProgress,
} from "./limits.ts";

/**
 * Why no model is asked for a line now:
 *
 * - `off`: the switch; `ended`: the agent; `running`: the call before has no answer yet;
 * - `too-few`: the agent has hardly begun; `unchanged`: nothing was said since the last call;
 * - `failing`: the last lines were all lost or dropped;
 * - `budget`: it would cost too much beside the agent's own work, or background work has no money left.
 */
export type ProgressSkip = "off" | "ended" | "running" | "too-few" | "unchanged" | "failing" | "budget";

export interface ProgressMoment {
  readonly progress: "on" | "off";
  readonly agent: "running" | "ended";
  readonly call: "idle" | "running";
  /** Lines in a row that failed or were dropped. */
  readonly failures: number;
  readonly messages: readonly Message[];
  /** As `markNewest` returned it for the last call. */
  readonly lastMark: string | undefined;
  readonly sizes: ProgressSizes;
  /** What the agent's lines have cost. */
  readonly spentNanos: NanoUsd;
  /** What the agent's own work has cost. */
  readonly agentNanos: NanoUsd;
}

export type ProgressPlan =
  | { readonly kind: "skip"; readonly why: ProgressSkip }
  | { readonly kind: "ask"; readonly mark: string; readonly choice: ProgressChoice };

export function planProgress(moment: ProgressMoment): ProgressPlan {
  const mark = markNewest(moment.messages);
  const choice = compareProgressCalls(moment.sizes);
  const why = findSkip(moment, { mark, estimateNanos: choice.estimateNanos });
  return why === undefined ? { kind: "ask", mark, choice } : { kind: "skip", why };
}

function findSkip(
  { progress, agent, call, failures, messages, lastMark, spentNanos, agentNanos }: ProgressMoment,
  { mark, estimateNanos }: { readonly mark: string; readonly estimateNanos: NanoUsd },
): ProgressSkip | undefined {
  if (progress === "off") return "off";
  if (agent === "ended") return "ended";
  if (call === "running") return "running";
  if (failures >= progressFailuresMax) return "failing";
  if (messages.length < progressMessagesMin) return "too-few";
  if (mark === lastMark) return "unchanged";
  return spentNanos + estimateNanos > agentNanos * progressShareMax ? "budget" : undefined;
}

/** The same as long as nothing was said. Results that replace the stand-ins of open calls change nothing. */
export function markNewest(messages: readonly Message[]): string {
  const blocks = messages.reduce((sum, { content }) => sum + content.length, 0);
  return `${messages.length} ${blocks} ${newestCall(messages)?.id ?? ""}`;
}

export const newestCall = (messages: readonly Message[]): ToolUseBlock | undefined =>
  messages.findLast(({ content }) => content.some(isCall))?.content.findLast(isCall);

const isCall = (block: Block): block is ToolUseBlock => block.type === "tool_use";

export interface ProgressSizes {
  /** The agent's own model, which answers a fork; undefined if its price is not known. */
  readonly model: Pick<Model, "prices" | "longPrompt" | "cachePrefixTokensMin"> | undefined;
  /** What a fork reads from the provider's cache; 0 if the cache is cold. */
  readonly cachedTokens: number;
  /** The rest of the agent's conversation. */
  readonly freshTokens: number;
  /** The model of the small call; undefined if its price is not known. */
  readonly small: Pick<Model, "prices" | "longPrompt"> | undefined;
  readonly excerptTokens: number;
}

export interface ProgressChoice {
  readonly way: "fork" | "small";
  /** Undefined for a model without a known price. */
  readonly forkNanos: NanoUsd | undefined;
  readonly smallNanos: NanoUsd | undefined;
  /** Of the chosen way; 0 if its price is not known. */
  readonly estimateNanos: NanoUsd;
}

/**
 * A fork reads the whole conversation at the cache's price, the small call only the newest messages at the full price of
 * another model. What costs less is chosen; without prices the small call, which sends less.
 */
export function compareProgressCalls(sizes: ProgressSizes): ProgressChoice {
  const { model, small } = sizes;
  const { promptTokens, forkOutputTokens, smallOutputTokens } = usualProgress;
  const cachedTokens = model !== undefined && sizes.cachedTokens < model.cachePrefixTokensMin ? 0 : sizes.cachedTokens;
  const uncachedTokens = sizes.cachedTokens - cachedTokens + sizes.freshTokens;
  const forkNanos =
    model &&
    estimateFork(model, {
      contextTokens: cachedTokens,
      directiveTokens: uncachedTokens + promptTokens,
      outputTokens: forkOutputTokens,
    });
  const smallNanos =
    small &&
    estimateFork(small, {
      contextTokens: 0,
      directiveTokens: sizes.excerptTokens + promptTokens,
      outputTokens: smallOutputTokens,
    });
  const isForkCheaper = forkNanos !== undefined && forkNanos < (smallNanos ?? Infinity);
  const estimateNanos = (isForkCheaper ? forkNanos : smallNanos) ?? nanoUsd(0);
  return { way: isForkCheaper ? "fork" : "small", forkNanos, smallNanos, estimateNanos };
}

/** The newest messages for the small call, one line for each text, call and result: the newest ones that fit. */
export function renderNewest(messages: readonly Message[]): string {
  const lines = messages
    .slice(-newestMessagesMax)
    .flatMap(({ role, content }) => content.flatMap((block) => renderBlock(block, role)));
  const taken: string[] = [];
  let chars = 0;
  for (const line of lines.toReversed()) {
    chars += line.length + 1;
    if (chars > excerptCharsMax) break;
    taken.push(line);
  }
  return taken.toReversed().join("\n");
}

function renderBlock(block: Block, role: Message["role"]): readonly string[] {
  switch (block.type) {
    case "text":
      return [`${role === "user" ? "task" : "agent"}: ${clip(block.text, excerptTextCharsMax)}`];
    case "tool_use":
      return [`call: ${clip(block.name, excerptFieldCharsMax)} ${JSON.stringify(shortInput(block))}`];
    case "tool_result":
      return [`result: ${clip(resultText(block.content ?? ""), excerptTextCharsMax)}`];
    // Thinking and what is not text.
    default:
      return [];
  }
}

/** JSON, also if it is shortened. */
const shortInput = ({ input }: ToolUseBlock): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(input)
      .slice(0, excerptFieldsMax)
      .map(([key, value]) => [clip(key, excerptFieldCharsMax), clip(fieldText(value), excerptFieldCharsMax)]),
  );

const fieldText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const resultText = (content: ResultContent): string =>
  typeof content === "string" ? content : content.flatMap((part) => textField(part, "text") ?? []).join(" ");

/** The beginning, on one line. Looks at no more of a long text than may be left of it. */
const clip = (text: string, charsMax: number): string => {
  const line = oneLine(text.slice(0, 2 * charsMax)).trim();
  return line.length <= charsMax && text.length <= 2 * charsMax
    ? line
    : `${line.slice(0, safeCutIndex(line, charsMax - 1))}…`;
};
