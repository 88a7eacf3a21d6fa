import { formatSummaryFault } from "palimpsest/internal/layers/4-compact/gate/read-summary";
import {
  summaryTokensMax,
  summaryWindowShareMax,
  summaryBudgetTimesMax,
} from "palimpsest/internal/layers/4-compact/limits";
import type { CompactionProblem } from "palimpsest/internal/context/compact/proposal";
import type { CompactionFailure, CompactionRange } from "palimpsest/internal/schema/compaction-cause";
import { type ExitCode, exitCode, failure, type Failure } from "../program/failure.ts";
import { formatNumber, formatPercent, joinLines } from "../text/format.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { placeholderProblems } from "../agent/user-text.ts";
import { openWorkspace } from "../host/workspace.ts";
import type { PromptValues } from "palimpsest/internal/layers/4-compact/prompt";
import type { CommandContext } from "../program/command.ts";

/** What a hint depends on. */
export interface HintContext {
  /** How many messages are pinned. */
  readonly pins: number;
  readonly ownPrompt: UserPrompt | undefined;
}

export interface RequestedCompaction extends HintContext {
  readonly part: CompactionRange;
  /** Who wrote the summary, or should have. */
  readonly writer: "user" | "model";
}

export function compactionFailure({ reason, message }: CompactionProblem, request: RequestedCompaction): Failure {
  const code = codeByReason[reason];
  const { part } = request;
  if (reason === "nothing_to_compact" && part.kind === "up_to")
    return failure({
      code,
      message: `not compacted: nothing that was said stands before ${joinLines(part.entry)}`,
      hint: "Name a later message, or leave out --up-to to summarise everything.",
    });
  const isUserSummary = reason === "no_summary" && request.writer === "user";
  const hint = isUserSummary ? userSummaryHint(message) : hintForRequested(reason, request);
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

/** For a compaction that the user asked for. */
function hintForRequested(reason: CompactionFailure, { ownPrompt, pins }: HintContext): string {
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
      return commonHint(reason);
  }
}

/** For an automatic compaction. */
export function hintForAutomatic(reason: CompactionFailure, { ownPrompt, pins }: HintContext): string {
  switch (reason) {
    case "no_summary":
      return ownPrompt === undefined ? triedAgainHint : `${promptHint(ownPrompt)} ${triedAgainHint}`;
    case "api_error":
    case "timed_out":
    case "prompt_too_long":
      return triedAgainHint;
    case "still_over":
      return `\`palimpsest context\` names what is largest; ${pins === 0 ? "" : "unpin some of it, or "}use a model with a larger window.`;
    case "nothing_to_compact":
    case "switched_off":
    case "blocked":
    case "aborted":
    case "breaker_open":
    case "spend_limit":
    case "unwritten":
      return commonHint(reason);
  }
}

const triedAgainHint = "It is tried again later; `palimpsest compact` does it by hand.";

type CommonReason =
  | "nothing_to_compact"
  | "switched_off"
  | "blocked"
  | "aborted"
  | "breaker_open"
  | "spend_limit"
  | "unwritten";

function commonHint(reason: CommonReason): string {
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

/** For a summary that the user wrote. */
function userSummaryHint(message: string): string {
  if (message !== formatSummaryFault("too-long")) return "Change what --summary names, or leave it out to ask a model.";
  const share = formatPercent(summaryBudgetTimesMax * summaryWindowShareMax);
  const most = formatNumber(summaryBudgetTimesMax * summaryTokensMax);
  return `Shorten it: a summary may have ${share} of the window, and ${most} tokens at most.`;
}

/** A foreign sentence without its full stop, to continue in the same line. */
export const withoutStop = (message: string): string => message.trimEnd().replace(/\.$/, "");

/** The user's own prompt for summaries, which replaces ours. */
export interface UserPrompt {
  readonly path: string;
  /** What will go wrong with it, a line each. */
  readonly problems: readonly string[];
}

/** Undefined if there is none, or if it can't be read. */
export async function readUserPrompt(context: Pick<CommandContext, "env" | "cwd">): Promise<UserPrompt | undefined> {
  const path = join(openWorkspace(context).home, "prompts", "compact.md");
  const text = await readFile(path, "utf8").catch(() => "");
  return text.trim() === "" ? undefined : { path, problems: promptProblems(path, text) };
}

const valueNames: Readonly<Record<keyof PromptValues, true>> = {
  scope: true,
  previous: true,
  sections: true,
  project: true,
  instructions: true,
};

const promptProblems = (path: string, text: string): readonly string[] => [
  ...placeholderProblems({ path, text, known: Object.keys(valueNames) }),
  ...(/<\s*summary\s*>/i.test(text) ? [] : [`${path}: ${missingTagsText}`]),
];

const missingTagsText =
  "it does not ask for the summary in <summary> tags, so what the model writes may not be taken for one";

/** Follows a failure that the prompt may have caused. */
export const promptHint = ({ path }: UserPrompt): string =>
  `The prompt is your own, ${path}: it has to ask for the summary in <summary> tags.`;
