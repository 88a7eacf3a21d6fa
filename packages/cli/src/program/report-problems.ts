import { type Problem, formatProblem } from "palimpsest/internal/settings/problem";
import type { CommandContext } from "./command.ts";
import type { Failure } from "./failure.ts";
import { nearestName } from "palimpsest/internal/text/nearest-name";
import { usageFailure } from "./parse-arguments.ts";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { joinLines } from "../text/format.ts";

/**
 * Prints the problems of the settings on stderr; a wrong flag ends the command. For every command that uses settings.
 */
export async function reportProblems(
  context: CommandContext,
  problems: readonly Problem[],
): Promise<Failure | undefined> {
  const wrong = wrongFlag(context, problems);
  if (wrong !== undefined) return wrong;
  await printProblems(context, problems);
  return undefined;
}

/** The user who typed it can correct it: nothing is done, or paid for, without what was asked for. */
export function wrongFlag({ called }: CommandContext, problems: readonly Problem[]): Failure | undefined {
  const wrong = problems.find(({ severity, where }) => severity === "error" && where.startsWith("flag "));
  return wrong === undefined ? undefined : usageFailure(problemWithHint(wrong), called);
}

export async function printProblems({ err }: CommandContext, problems: readonly Problem[]): Promise<void> {
  for (const problem of problems) {
    const colour = problem.severity === "error" ? "red" : "yellow";
    await err.write(`${err.style(colour, `${problem.severity}:`)} ${problemWithHint(problem)}\n`);
  }
}

export function problemWithHint(problem: Problem): string {
  const text = formatProblem(problem);
  if (problem.unknown === undefined) return text;
  const { name, known } = problem.unknown;
  const guess = nearestName(name, known);
  if (guess !== undefined) return `${text}; did you mean ${guess}?`;
  return known.length > namesListedMax ? text : `${text}; there are ${known.join(", ")}`;
}

/** As many as hooks have events: a longer list is a table, and belongs in the documentation. */
const namesListedMax = 16;

/** A line on stderr. A hook's messages and failures are shown as its own: most of them warn of nothing. */
export const warningLine = ({ code, message }: Extract<LoopEvent, { kind: "warning" }>): string =>
  `${code === "hook" || code === "retention" ? code : "warning"}: ${joinLines(message)}\n`;
