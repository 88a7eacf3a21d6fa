import { spawn } from "node:child_process";
import { rgPath } from "@vscode/ripgrep";
import { searchMessageCharsMax, searchTimeoutMs } from "../limits.ts";
import { relative } from "node:path";
import { pathPattern } from "palimpsest/internal/text/path-pattern";

interface RipgrepRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** The character that ends a piece of the output. */
  readonly separator: "\n" | "\0";
  /** Called with each piece in order; `stop` ends the search. */
  readonly onPiece: (piece: string) => "go-on" | "stop";
}

export type RipgrepEnd =
  | { readonly kind: "done" }
  /** Not everything was searched. */
  | { readonly kind: "cut"; readonly why: "stopped" | "timed-out" | "aborted" }
  | { readonly kind: "failed"; readonly message: string };

/** Runs without a shell: patterns and paths are only arguments. */
export async function runRipgrep({ args, cwd, signal, separator, onPiece }: RipgrepRun): Promise<RipgrepEnd> {
  if (signal.aborted) return { kind: "cut", why: "aborted" };
  const child = spawn(rgPath, ["--no-config", ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let cut: "stopped" | "timed-out" | "aborted" | undefined;
  const stop = (why: "stopped" | "timed-out" | "aborted"): void => {
    cut ??= why;
    child.kill("SIGKILL");
  };
  const onAbort = (): void => stop("aborted");
  const timer = setTimeout(() => stop("timed-out"), searchTimeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  const ended = new Promise<number | Error | null>((resolve) => {
    child.once("error", resolve);
    child.once("close", resolve);
  });
  const pieces = new PieceSplitter(separator);
  let errorText = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (errorText.length < errorCharsMax) errorText += text;
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    for (const piece of pieces.of(text)) if (cut === undefined && onPiece(piece) === "stop") stop("stopped");
  });
  try {
    const end = await ended;
    if (cut !== undefined) return { kind: "cut", why: cut };
    if (end instanceof Error) return { kind: "failed", message: end.message };
    // Exit code 1 means that nothing was found; 2 also means that some files could not be read, and other matches may
    // be valid.
    if (end === 2 && !pieces.hadAny) return { kind: "failed", message: errorText.trim().slice(0, errorCharsMax) };
    return { kind: "done" };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

const errorCharsMax = 2_000;

/** Cuts a stream at a separator. A piece over the limit is dropped as a whole. */
class PieceSplitter {
  readonly #separator: string;
  #rest = "";
  #isTooLong = false;
  hadAny = false;

  constructor(separator: string) {
    this.#separator = separator;
  }

  of(text: string): readonly string[] {
    const pieces = (this.#rest + text).split(this.#separator);
    this.#rest = pieces.pop() ?? "";
    if (this.#isTooLong && pieces.length > 0) {
      pieces.shift();
      this.#isTooLong = false;
    }
    if (this.#rest.length > searchMessageCharsMax) {
      this.#rest = "";
      this.#isTooLong = true;
    }
    this.hadAny ||= pieces.length > 0;
    return pieces;
  }
}

/** The path as the model names files: relative if it is inside the working directory, otherwise absolute. */
export function displayPath(path: string, cwd: string): string {
  const relativePath = relative(cwd, path);
  return relativePath === "" || relativePath.startsWith("..") ? path : relativePath;
}

/**
 * Applied to the results: a glob given to ripgrep would bring back files that .gitignore leaves out. A pattern without
 * a slash matches names in any folder.
 */
export function nameFilter(pattern: string): (name: string) => boolean {
  const trimmed = pattern.replace(/^\.?\//, "");
  const form = pathPattern(pattern.includes("/") ? trimmed : `**/${trimmed}`, "as-given");
  return (name) => form.test(name);
}

/** Hidden files are part of a project, its history is not. Ignore files apply outside a repository too. */
export const searchArgs: readonly string[] = ["--hidden", "--no-require-git", "--glob=!.git", "--glob=!.git/**"];
