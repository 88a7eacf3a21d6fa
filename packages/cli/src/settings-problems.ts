import type { Problem } from "palimpsest/internal/settings/problem";
import { problemText } from "palimpsest/internal/settings/problem";
import type { CommandContext } from "./command.ts";
import type { Failure } from "./failure.ts";
import { nearest } from "palimpsest/internal/schema/nearest";
import { usage } from "./parse.ts";

/** What is wrong with the settings, on stderr; a flag that is wrong ends the command. For every command that reckons with settings. */
export async function toldProblems(
  context: CommandContext,
  problems: readonly Problem[],
): Promise<Failure | undefined> {
  const wrong = wrongFlag(context, problems);
  if (wrong !== undefined) return wrong;
  await tellProblems(context, problems);
  return undefined;
}

/** Whoever typed it is there and can correct it: nothing is done, or paid for, without what was asked for. */
export function wrongFlag({ called }: CommandContext, problems: readonly Problem[]): Failure | undefined {
  const wrong = problems.find(({ severity, where }) => severity === "error" && where.startsWith("flag "));
  return wrong === undefined ? undefined : usage(said(wrong), called);
}

export async function tellProblems({ err }: CommandContext, problems: readonly Problem[]): Promise<void> {
  for (const problem of problems) {
    const colour = problem.severity === "error" ? "red" : "yellow";
    await err.write(`${err.style(colour, `${problem.severity}:`)} ${said(problem)}\n`);
  }
}

export function said(problem: Problem): string {
  const text = problemText(problem);
  if (problem.unknown === undefined) return text;
  const { name, known } = problem.unknown;
  const guess = nearest(name, known);
  if (guess !== undefined) return `${text}; did you mean ${guess}?`;
  return known.length > namesListedMax ? text : `${text}; there are ${known.join(", ")}`;
}

/** As many as hooks have events: more is a table, and belongs to the documentation. */
const namesListedMax = 16;
