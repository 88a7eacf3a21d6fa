import { codeOf, refusalText } from "palimpsest/internal/store/files/failure";
import { type ExitCode, exitCode } from "./exit-code.ts";
import { oneLine } from "./human.ts";
import type { Style } from "./style.ts";

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

export const failure = (parts: Omit<Failure, "kind">): Failure => ({ kind: "failure", ...parts });

export const isFailure = (outcome: ExitCode | Failure): outcome is Failure => typeof outcome === "object";

/** What nobody caught: the machine's refusals are told from bugs by the operating system's error name. */
export function failureOf(thrown: unknown): Failure {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const refusal = refusalText(codeOf(error) ?? "");
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
  const first = `${style("red", "palimpsest:")} ${oneLine(message)}\n`;
  return hint === undefined ? first : `${first}  ${oneLine(hint)}\n`;
}
