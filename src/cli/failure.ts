import { type ExitCode, exitCode } from "./exit-code.ts";
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
  const hint = "code" in error && typeof error.code === "string" ? hintByErrno.get(error.code) : undefined;
  if (hint !== undefined) return failure({ code: exitCode.machine, message: error.message, hint, cause: error });
  return failure({
    code: exitCode.bug,
    message: `a bug: ${error.message}`,
    hint: "Run it again with --debug for the stack trace.",
    cause: error,
  });
}

const hintByErrno: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "The disk is full: make room and run it again."],
  ["EDQUOT", "The disk quota is used up: make room and run it again."],
  ["EACCES", "You have no permission for it: check owner and mode of the file and its folder."],
  ["EPERM", "You have no permission for it: check owner and mode of the file and its folder."],
  ["EROFS", "The file system is read-only: mount it for writing or choose another folder with PALIMPSEST_HOME."],
  ["EIO", "The disk reported an error: check it before you go on."],
  ["EMFILE", "Too many files are open: raise the limit with ulimit -n."],
  ["ENFILE", "Too many files are open on this machine."],
]);

export function renderFailure({ message, hint }: Failure, style: Style): string {
  const first = `${style("red", "palimpsest:")} ${onOneLine(message)}\n`;
  return hint === undefined ? first : `${first}  ${onOneLine(hint)}\n`;
}

/** Messages quote arguments and file contents: those must not move the cursor or break the line. */
const onOneLine = (text: string): string =>
  text.replaceAll(/\s*\n\s*/g, " ").replaceAll(/\p{Cc}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\x${code.toString(16).padStart(2, "0")}`;
  });
