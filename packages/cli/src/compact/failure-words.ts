import { badSummaryText } from "palimpsest/internal/layers/4-compact/bad-summary";
import { summaryTokensMax, summaryWindowShareMax } from "palimpsest/internal/layers/4-compact/budget-limits";
import { summaryBudgetTimesMax } from "palimpsest/internal/layers/4-compact/limits";
import type { CompactionProblem } from "palimpsest/internal/context/compact/proposal";
import type { CompactionFailure, CompactionPart } from "palimpsest/internal/schema/compaction";
import { type ExitCode, exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { humanCount, humanPercent, oneLine } from "../human.ts";
import { type OwnPrompt, promptHint } from "./own-prompt.ts";

/** What a hint depends on. */
export interface Circumstances {
  /** How many messages are pinned. */
  readonly pins: number;
  readonly ownPrompt: OwnPrompt | undefined;
}

export interface AskedFor extends Circumstances {
  readonly part: CompactionPart;
  /** Who wrote the summary, or should have. */
  readonly writer: "person" | "model";
}

export function compactionFailure({ reason, message }: CompactionProblem, asked: AskedFor): Failure {
  const code = codeByReason[reason];
  const { part } = asked;
  if (reason === "nothing_to_compact" && part.kind === "up_to")
    return failure({
      code,
      message: `not compacted: nothing that was said stands before ${oneLine(part.entry)}`,
      hint: "Name a later message, or leave out --up-to to summarise everything.",
    });
  const isOwn = reason === "no_summary" && asked.writer === "person";
  const hint = isOwn ? ownSummaryHint(message) : askedHint(reason, asked);
  return failure({ code, message: `not compacted: ${withoutStop(message)}`, hint });
}

const codeByReason: Readonly<Record<CompactionFailure, Exclude<ExitCode, typeof exitCode.fine>>> = {
  nothing_to_compact: exitCode.refused,
  switched_off: exitCode.refused,
  blocked: exitCode.refused,
  no_summary: exitCode.negative,
  api_error: exitCode.negative,
  prompt_too_long: exitCode.negative,
  timed_out: exitCode.negative,
  aborted: exitCode.negative,
  still_over: exitCode.refused,
  breaker_open: exitCode.refused,
  spend_limit: exitCode.refused,
  unwritten: exitCode.machine,
};

/** Of a person who wanted it. */
function askedHint(reason: CompactionFailure, { ownPrompt, pins }: Circumstances): string {
  switch (reason) {
    case "no_summary":
      if (ownPrompt !== undefined) return promptHint(ownPrompt);
      return "Try again, name another model with --model, or write a summary yourself: --summary <file>.";
    case "api_error":
    case "timed_out":
      return "Try again later, or name another model with --model.";
    case "prompt_too_long":
      return "Compact a part with --up-to <entry>, or undo to an earlier point.";
    case "still_over":
      return `There is too little to gain: \`palimpsest context\` names what is largest${pins === 0 ? "" : "; unpin some of it"}.`;
    case "nothing_to_compact":
    case "switched_off":
    case "blocked":
    case "aborted":
    case "breaker_open":
    case "spend_limit":
    case "unwritten":
      return anyHint(reason);
  }
}

/** Of a compaction that nobody asked for. */
export function unaskedHint(reason: CompactionFailure, { ownPrompt, pins }: Circumstances): string {
  switch (reason) {
    case "no_summary":
      return ownPrompt === undefined ? later : `${promptHint(ownPrompt)} ${later}`;
    case "api_error":
    case "timed_out":
    case "prompt_too_long":
      return later;
    case "still_over":
      return `\`palimpsest context\` names what is largest; ${pins === 0 ? "" : "unpin some of it, or "}use a model with a larger window.`;
    case "nothing_to_compact":
    case "switched_off":
    case "blocked":
    case "aborted":
    case "breaker_open":
    case "spend_limit":
    case "unwritten":
      return anyHint(reason);
  }
}

const later = "It is tried again later; `palimpsest compact` does it by hand.";

type Alike =
  | "nothing_to_compact"
  | "switched_off"
  | "blocked"
  | "aborted"
  | "breaker_open"
  | "spend_limit"
  | "unwritten";

function anyHint(reason: Alike): string {
  switch (reason) {
    case "nothing_to_compact":
      return "`palimpsest context` shows what fills the window.";
    case "switched_off":
      return "`palimpsest explain` says where the switch was turned off.";
    case "blocked":
      return "A PreCompact hook of your settings decides that.";
    case "aborted":
      return "The view is as it was.";
    case "breaker_open":
    case "spend_limit":
      return "`palimpsest compact` asks a model all the same.";
    case "unwritten":
      return "What was written before stays; run it again when the cause is gone.";
  }
}

/** Of a summary that a person gave. */
function ownSummaryHint(message: string): string {
  if (message !== badSummaryText("too-long")) return "Change what --summary names, or leave it out to ask a model.";
  const share = humanPercent(summaryBudgetTimesMax * summaryWindowShareMax);
  const most = humanCount(summaryBudgetTimesMax * summaryTokensMax);
  return `Shorten it: a summary may have ${share} of the window, and ${most} tokens at most.`;
}

/** Sentences of others, where more is said in the same line. */
export const withoutStop = (message: string): string => message.trimEnd().replace(/\.$/, "");
