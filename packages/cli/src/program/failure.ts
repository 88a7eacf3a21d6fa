import { errorCode, refusalText } from "palimpsest/internal/store/files/disk";
import { joinLines } from "../text/format.ts";
import type { Style } from "../text/style.ts";

/** A failure that a command expects: it returns one instead of throwing. */
export interface Failure {
  readonly kind: "failure";
  readonly code: Exclude<ExitCode, typeof exitCode.fine>;
  /** One line, without a full stop: what went wrong. */
  readonly message: string;
  /** One line: what to do about it. */
  readonly hint?: string;
  readonly cause?: unknown;
}

export const failure = (fields: Omit<Failure, "kind">): Failure => ({ kind: "failure", ...fields });

/** The command line was not understood. `hint`: what to type instead. */
export const usageError = (message: string, hint: string): Failure => failure({ code: exitCode.usage, message, hint });

export const isFailure = (outcome: ExitCode | Failure | ProgramExit): outcome is Failure =>
  typeof outcome === "object" && outcome.kind === "failure";

/** How another program ended that the command ran in its place: its code is passed on, whatever it means there. */
export interface ProgramExit {
  readonly kind: "exit";
  readonly code: number;
}

/** For uncaught errors: an error code of the operating system tells errors of the machine from bugs. */
export function failureFromError(thrown: unknown): Failure {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const refusal = refusalText(errorCode(error) ?? "");
  if (refusal !== undefined) {
    const hint = `${refusal.slice(0, 1).toUpperCase()}${refusal.slice(1)}.`;
    return failure({ code: exitCode.machine, message: error.message, hint, cause: error });
  }
  return failure({
    code: exitCode.bug,
    message: `a bug: ${error.message}`,
    hint: "Run it again with --debug for the stack trace.",
    cause: error,
  });
}

export function renderFailure({ message, hint }: Failure, style: Style): string {
  const first = `${style("red", "palimpsest:")} ${joinLines(message)}\n`;
  return hint === undefined ? first : `${first}  ${joinLines(hint)}\n`;
}

/** The meaning of the process's exit codes. Scripts rely on these numbers: none changes its meaning. */
export const exitCode = {
  fine: 0,
  negative: 1,
  usage: 2,
  notFound: 3,
  busy: 4,
  refused: 5,
  machine: 6,
  bug: 70,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

export const meaningByExitCode: { readonly [Code in ExitCode]: string } = {
  0: "fine",
  1: "the command ran and found damage, or the answer is no",
  2: "the command line was not understood",
  3: "not found: no such session, file, entry or id",
  4: "busy: another process holds the session",
  5: "refused: it would break a rule or go over a limit",
  6: "the machine refused: disk full, no permission, broken file system",
  70: "a bug in palimpsest",
};
