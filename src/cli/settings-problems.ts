import type { Problem } from "../settings/problem.ts";
import { problemText } from "../settings/problem.ts";
import type { CommandContext } from "./command.ts";
import type { Failure } from "./failure.ts";
import { nearest } from "./nearest.ts";
import { usage } from "./parse.ts";

/** What is wrong with the settings, on stderr; a flag that is wrong ends the command. For every command that reckons with settings. */
export async function toldProblems(
  context: CommandContext,
  problems: readonly Problem[],
): Promise<Failure | undefined> {
  const wrongFlag = problems.find(({ severity, where }) => severity === "error" && where.startsWith("flag "));
  if (wrongFlag !== undefined) return usage(said(wrongFlag), context.called);
  await report(context, problems);
  return undefined;
}

async function report({ err }: CommandContext, problems: readonly Problem[]): Promise<void> {
  for (const problem of problems) {
    const colour = problem.severity === "error" ? "red" : "yellow";
    await err.write(`${err.style(colour, `${problem.severity}:`)} ${said(problem)}\n`);
  }
}

export function said(problem: Problem): string {
  const { unknown } = problem;
  const guess = unknown === undefined ? undefined : nearest(unknown.name, unknown.known);
  const text = problemText(problem);
  return guess === undefined ? text : `${text}; did you mean ${guess}?`;
}
