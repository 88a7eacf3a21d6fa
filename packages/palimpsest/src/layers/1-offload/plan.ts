import type { ResultContent } from "../../schema/block.ts";
import type { ToolUseId } from "../../schema/brand.ts";
import { resultCharsHard, resultCharsMin, type ToolLimit } from "../../schema/setting-row.ts";
import { isEmptyContent } from "../../transcript/to-wire-block.ts";
import type { OffloadRule, PreviewRule } from "../policy.ts";
import {
  loggedCharsMax,
  resultCharsDefault,
  resultCharsPerToken,
  roomyWindowTokens,
  roundCharsMax,
  roundCharsPerToken,
  shownCharsMax,
} from "./limits.ts";

/**
 * Which results of a round are offloaded. Each result is in one state; the caller freezes it by listing it in `decided`:
 *
 *   arrived ─▶ empty                       nothing to offload
 *           ─▶ kept (image, exempt)        never offloaded
 *           ─▶ kept (fits) ─▶ offloaded    while the round has not been sent, its budget may still take it
 *           ─▶ offloaded (result, round, line)
 *   sent: the state no longer changes
 */
export type OffloadDecision =
  | { readonly kind: "empty" }
  /** `unwritten`: it should have been offloaded, but the disk refused. */
  | { readonly kind: "kept"; readonly why: "fits" | "image" | "exempt" | "unwritten" }
  /** `line`: no line of the log could hold it. */
  | { readonly kind: "offloaded"; readonly why: "result" | "round" | "line" };

export interface MeasuredResult {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  readonly holds: "nothing" | "text" | "image";
  /** Length of the string or of its compact JSON, without images. */
  readonly chars: number;
  /** Length with images. */
  readonly wholeChars: number;
  /** The tool's own limit. */
  readonly resultCharsMax?: number | undefined;
  /** The output is a file read back: never offloaded again. */
  readonly offload?: "never" | undefined;
}

export interface OffloadLimits {
  /** The limit for tools that have none of their own. */
  readonly resultChars: number;
  readonly resultCharsHard: number;
  readonly roundChars: number;
  /** Whether a tool's own limit counts; it does if absent. */
  readonly toolsOwn?: OffloadRule["toolsOwn"];
  /** What is shown of an offloaded result; ours if absent. */
  readonly preview?: PreviewRule;
  /** Limits from the settings; they override the tool's own. */
  readonly resultCharsByTool: ReadonlyMap<string, number>;
}

export const defaultOffloadLimits = (toolLimits: readonly ToolLimit[] = []): OffloadLimits => ({
  resultChars: resultCharsDefault,
  resultCharsHard,
  roundChars: roundCharsMax,
  resultCharsByTool: new Map(toolLimits.map(({ id, resultCharsMax }) => [id, resultCharsMax])),
});

/** The limits of a policy. A policy without a rule never offloads. */
export const resolveOffloadLimits = (
  rule: OffloadRule | undefined,
  toolLimits: readonly ToolLimit[] = [],
): OffloadLimits =>
  rule === undefined
    ? unlimited
    : {
        resultChars: rule.resultCharsMax,
        resultCharsHard: rule.hardCharsMax,
        roundChars: rule.roundCharsMax ?? Infinity,
        toolsOwn: rule.toolsOwn,
        preview: rule.preview,
        resultCharsByTool: new Map(toolLimits.map(({ id, resultCharsMax }) => [id, resultCharsMax])),
      };

/**
 * Tightens limits to a small window. Otherwise a result that the policy allows might not fit beside the rest and would
 * be summarised before the model has seen it: again and again, if the model asks again.
 */
export function limitsWithin(limits: OffloadLimits, windowTokens: number): OffloadLimits {
  if (windowTokens >= roomyWindowTokens) return limits;
  const resultChars = Math.max(resultCharsMin, Math.floor(windowTokens * resultCharsPerToken));
  return {
    ...limits,
    resultChars: Math.min(limits.resultChars, resultChars),
    resultCharsHard: Math.min(limits.resultCharsHard, resultChars),
    roundChars: Math.min(limits.roundChars, Math.max(resultChars, Math.floor(windowTokens * roundCharsPerToken))),
  };
}

/** For offloading that is switched off. */
export const unlimited: OffloadLimits = {
  resultChars: Infinity,
  resultCharsHard: Infinity,
  roundChars: Infinity,
  toolsOwn: "ignored",
  resultCharsByTool: new Map(),
};

interface OffloadInput {
  /** All results of the round so far, including decided ones: they count in its budget. */
  readonly results: readonly MeasuredResult[];
  readonly limits: OffloadLimits;
  /** Decisions about results that are offloaded already or were sent. */
  readonly decided: ReadonlyMap<ToolUseId, OffloadDecision>;
}

/** One decision for each result, independent of their order. Existing decisions are returned as they are. */
export function planOffload({ results, limits, decided }: OffloadInput): ReadonlyMap<ToolUseId, OffloadDecision> {
  const decisions = new Map(
    results.map((result) => [result.toolUse, decided.get(result.toolUse) ?? decideAlone(result, limits)]),
  );
  let roundChars = 0;
  for (const result of results) roundChars += countShownChars(result, decisions.get(result.toolUse));
  for (const result of largestFirst(results)) {
    if (roundChars <= limits.roundChars) break;
    const decision = decisions.get(result.toolUse);
    const mayGo = decision?.kind === "kept" && decision.why === "fits" && !decided.has(result.toolUse);
    if (!mayGo || result.chars <= shownCharsMax) continue;
    decisions.set(result.toolUse, { kind: "offloaded", why: "round" });
    roundChars += shownCharsMax - result.chars;
  }
  return decisions;
}

function decideAlone(result: MeasuredResult, limits: OffloadLimits): OffloadDecision {
  if (result.holds === "nothing") return { kind: "empty" };
  if (result.wholeChars > loggedCharsMax) return { kind: "offloaded", why: "line" };
  if (result.offload === "never") return { kind: "kept", why: "exempt" };
  const isOver = result.chars > resultLimit(result, limits);
  if (isOver) return { kind: "offloaded", why: "result" };
  return { kind: "kept", why: result.holds === "image" ? "image" : "fits" };
}

/** An image is meant to be seen: it is only offloaded together with text that exceeds the hard limit. */
function resultLimit({ tool, holds, resultCharsMax }: MeasuredResult, limits: OffloadLimits): number {
  if (holds === "image") return limits.resultCharsHard;
  const toolLimit = limits.toolsOwn === "ignored" ? undefined : resultCharsMax;
  const wanted = limits.resultCharsByTool.get(tool) ?? toolLimit ?? limits.resultChars;
  return Math.max(resultCharsMin, Math.min(wanted, limits.resultCharsHard));
}

/** What a result adds to its round's budget. */
export const countShownChars = ({ chars }: MeasuredResult, decision: OffloadDecision | undefined): number =>
  decision?.kind === "offloaded" ? Math.min(chars, shownCharsMax) : chars;

/** For equal sizes the id decides, so that the order of arrival does not matter. */
const largestFirst = (results: readonly MeasuredResult[]): readonly MeasuredResult[] =>
  results.toSorted((left, right) => right.chars - left.chars || (left.toolUse < right.toolUse ? -1 : 1));

export function measureContent(content: ResultContent): Pick<MeasuredResult, "holds" | "chars" | "wholeChars"> {
  if (typeof content === "string")
    return { holds: isEmptyContent(content) ? "nothing" : "text", chars: content.length, wholeChars: content.length };
  const wholeChars = JSON.stringify(content).length;
  const rest = content.filter((part) => part["type"] !== "image");
  if (rest.length < content.length)
    return { holds: "image", chars: rest.length === 0 ? 0 : JSON.stringify(rest).length, wholeChars };
  return { holds: isEmptyContent(content) ? "nothing" : "text", chars: wholeChars, wholeChars };
}
