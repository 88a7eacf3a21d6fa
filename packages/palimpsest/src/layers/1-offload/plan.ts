import type { ResultContent } from "../../schema/block.ts";
import type { ToolUseId } from "../../schema/brand.ts";
import { resultCharsHard, resultCharsMin, type ToolLimit } from "../../schema/setting-row.ts";
import { isEmptyContent } from "../../transcript/to-wire-block.ts";
import type { OffloadRule } from "../policy.ts";
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
 * Which results of a round go to disk. Each result is in one state; the caller freezes it by naming it in `decided`:
 *
 *   arrived ─▶ empty                       nothing to offload
 *           ─▶ kept (image, exempt)        never offloaded
 *           ─▶ kept (fits) ─▶ offloaded    while the round has not been sent, its budget may still take it
 *           ─▶ offloaded (result, round, line)
 *   sent: whatever it is then, it stays
 */
export type OffloadDecision =
  | { readonly kind: "empty" }
  /** `unwritten`: it should have gone to disk, and the disk refused. */
  | { readonly kind: "kept"; readonly why: "fits" | "image" | "exempt" | "unwritten" }
  /** `line`: no line of the log could hold it. */
  | { readonly kind: "offloaded"; readonly why: "result" | "round" | "line" };

export interface MeasuredResult {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  readonly holds: "nothing" | "text" | "image";
  /** Of the string, or of its compact JSON; images are not counted. */
  readonly chars: number;
  /** With images. */
  readonly wholeChars: number;
  /** The tool's own limit. */
  readonly resultCharsMax?: number | undefined;
  /** Its output is a file read back: never offloaded again. */
  readonly offload?: "never" | undefined;
}

export interface OffloadLimits {
  /** Of a tool that has no limit of its own. */
  readonly resultChars: number;
  readonly resultCharsHard: number;
  readonly roundChars: number;
  /** Absent: a tool's own limit counts. */
  readonly toolsOwn?: OffloadRule["toolsOwn"];
  /** What settings say of a tool: wins over the tool's own. */
  readonly resultCharsByTool: ReadonlyMap<string, number>;
}

export const defaultOffloadLimits = (toolLimits: readonly ToolLimit[] = []): OffloadLimits => ({
  resultChars: resultCharsDefault,
  resultCharsHard,
  roundChars: roundCharsMax,
  resultCharsByTool: new Map(toolLimits.map(({ id, resultCharsMax }) => [id, resultCharsMax])),
});

/** As a policy says; one without a rule never offloads. */
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
        resultCharsByTool: new Map(toolLimits.map(({ id, resultCharsMax }) => [id, resultCharsMax])),
      };

/**
 * In a small window a result that a policy lets through may not fit beside the rest, and would be summed up before the model
 * has seen it: again and again, if the model asks again.
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

/** Switched off: nothing is ever over. */
export const unlimited: OffloadLimits = {
  resultChars: Infinity,
  resultCharsHard: Infinity,
  roundChars: Infinity,
  toolsOwn: "ignored",
  resultCharsByTool: new Map(),
};

interface OffloadInput {
  /** All of the round so far, decided ones too: they count in its budget. */
  readonly results: readonly MeasuredResult[];
  readonly limits: OffloadLimits;
  /** Offloaded already, or in a request that was sent. */
  readonly decided: ReadonlyMap<ToolUseId, OffloadDecision>;
}

/** One decision for each result, whatever their order. Decided ones come back as they are. */
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

/** An image is there to be seen: only text beside it that no tool may show takes it along. */
function resultLimit({ tool, holds, resultCharsMax }: MeasuredResult, limits: OffloadLimits): number {
  if (holds === "image") return limits.resultCharsHard;
  const own = limits.toolsOwn === "ignored" ? undefined : resultCharsMax;
  const wanted = limits.resultCharsByTool.get(tool) ?? own ?? limits.resultChars;
  return Math.max(resultCharsMin, Math.min(wanted, limits.resultCharsHard));
}

/** What a result adds to its round's budget. */
export const countShownChars = ({ chars }: MeasuredResult, decision: OffloadDecision | undefined): number =>
  decision?.kind === "offloaded" ? Math.min(chars, shownCharsMax) : chars;

/** Of two of the same size the id decides, so that the order of arrival does not. */
const largestFirst = (results: readonly MeasuredResult[]): readonly MeasuredResult[] =>
  results.toSorted((one, other) => other.chars - one.chars || (one.toolUse < other.toolUse ? -1 : 1));

export function measureContent(content: ResultContent): Pick<MeasuredResult, "holds" | "chars" | "wholeChars"> {
  if (typeof content === "string")
    return { holds: isEmptyContent(content) ? "nothing" : "text", chars: content.length, wholeChars: content.length };
  const wholeChars = JSON.stringify(content).length;
  const rest = content.filter((part) => part["type"] !== "image");
  if (rest.length < content.length)
    return { holds: "image", chars: rest.length === 0 ? 0 : JSON.stringify(rest).length, wholeChars };
  return { holds: isEmptyContent(content) ? "nothing" : "text", chars: wholeChars, wholeChars };
}
