import type { ToolResultBlock } from "../../schema/block.ts";
import { clipped } from "../1-offload/cut.ts";
import { refusalOf } from "../2-clear/refusal.ts";
import { resultText } from "../2-clear/result-text.ts";
import { failureLines, hidesExitCode, reportedLines } from "./error-lines.ts";
import { errorCharsMax, errorSearchChars } from "./fact-limits.ts";
import type { CallSubject } from "./call-subject.ts";

/** How a call ended. */
export type CallOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly line: string; readonly exitCode?: number }
  /** A person did not let it run. */
  | { readonly kind: "refused" }
  /** It did not come to run, and that says nothing of its own: another call of the same reply failed. */
  | { readonly kind: "not-run" };

export interface CallEnd {
  readonly outcome: CallOutcome;
  /** By which the result tells of an error: of a command that ended well too, where its exit code may hide one. */
  readonly errorLines: readonly string[];
  /** In which a command that ended well speaks of errors all the same: those of others, or that it got over. */
  readonly passingLines: readonly string[];
}

/** Looks at both ends of a result, however long it is. */
export function endOf(result: ToolResultBlock, subject: CallSubject): CallEnd {
  const said = ends(resultText(result));
  const exitCode = subject.kind === "command" ? exitCodeIn(said) : undefined;
  if (result.is_error !== true && (exitCode ?? 0) === 0) {
    return { ...silent, outcome: { kind: "done" }, ...(subject.kind === "command" ? reported(said, subject) : {}) };
  }
  if (refusalOf(result) !== undefined) return { ...silent, outcome: { kind: "refused" } };
  if (/\bsibling tool call\b/i.test(said.slice(0, errorCharsMax))) return { ...silent, outcome: { kind: "not-run" } };
  const errorLines = failureLines(said, subject.kind);
  const line = errorLines[0] ?? "";
  const outcome = { kind: "failed" as const, line, ...(exitCode === undefined ? {} : { exitCode }) };
  return { ...silent, outcome, errorLines };
}

const silent: Pick<CallEnd, "errorLines" | "passingLines"> = { errorLines: [], passingLines: [] };

function reported(said: string, { command }: Extract<CallSubject, { kind: "command" }>): Partial<CallEnd> {
  const lines = reportedLines(said, command);
  return hidesExitCode(command) ? { errorLines: lines } : { passingLines: lines };
}

const ends = (text: string): string =>
  text.length <= 2 * errorSearchChars
    ? text
    : `${clipped(text, errorSearchChars)}\n${text.slice(-errorSearchChars).toWellFormed()}`;

/** As the agents in the field write it: before the output, behind it, or as JSON around it. */
const exitForms: readonly RegExp[] = [
  /^exit code:? (\d+)/i,
  /\[exit code (\d+)\]\s*$/i,
  /^Process exited with code (\d+)/m,
  /"exit_code":\s*(\d+)/,
];

function exitCodeIn(said: string): number | undefined {
  for (const form of exitForms) {
    const found = form.exec(said)?.[1];
    if (found !== undefined) return Number(found);
  }
  return undefined;
}
