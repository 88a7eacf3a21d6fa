import type { Millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { type HookProcessEnd, runHookProcess } from "../tool/hooks/hook-process.ts";
import { statuslineDebounceMs, statuslineCharsMax, statuslineTimeoutMs } from "./limits.ts";
import { toPrintable } from "palimpsest/internal/text/to-printable";
import { statuslineLinesMax } from "../tui/limits.ts";
import { setTimeout as wait } from "node:timers/promises";

export interface StatuslineDeps {
  /** Runs the user's command with this text as its input. Must not reject. */
  readonly run: (input: string, signal: AbortSignal) => Promise<HookProcessEnd>;
  /** Resolves early if the signal aborts. Must not reject. */
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
}

/**
 * A line under the editor, written by the user's command.
 *
 *   quiet ──update──▶ waiting ──statuslineDebounceMs──▶ running ──ends──▶ quiet: its line is shown
 *   waiting ──update──▶ waiting: the time starts again
 *   running ──update──▶ running, one pending ──ends──▶ waiting: its line is shown
 *   any ──close──▶ closed
 *
 * A run is never cut short by newer events: if they come faster than a slow command ends, its line would never be shown
 * otherwise.
 */
export class Statusline {
  readonly #deps: StatuslineDeps;
  readonly #onLine: (line: StatuslineOutcome) => void;
  readonly #closed = new AbortController();
  #waiting: AbortController | undefined;
  #run: "none" | "running" = "none";
  #pending: (() => JsonObject) | undefined;

  constructor(deps: StatuslineDeps, onLine: (line: StatuslineOutcome) => void) {
    this.#deps = deps;
    this.#onLine = onLine;
  }

  /** Something has changed; `status` is called once events have paused. */
  update(status: () => JsonObject): void {
    if (this.#closed.signal.aborted) return;
    if (this.#run === "running") {
      this.#pending = status;
      return;
    }
    this.#waiting?.abort();
    this.#waiting = new AbortController();
    void this.#runLater(status, this.#waiting.signal);
  }

  close(): void {
    this.#closed.abort();
    this.#waiting?.abort();
  }

  async #runLater(status: () => JsonObject, signal: AbortSignal): Promise<void> {
    await this.#deps.wait(statuslineDebounceMs, signal);
    if (signal.aborted) return;
    const input = JSON.stringify(status());
    this.#run = "running";
    const end = await this.#deps.run(input, this.#closed.signal);
    this.#run = "none";
    if (this.#closed.signal.aborted) return;
    const line = readStatusline(end);
    if (line !== undefined) this.#onLine(line);
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) this.update(pending);
  }
}

export type StatuslineOutcome =
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  | { readonly kind: "failed"; readonly why: string };

/** The outcome of a run of the command; undefined if a newer run has replaced it. */
export function readStatusline(end: HookProcessEnd): StatuslineOutcome | undefined {
  switch (end.kind) {
    case "exited":
      if (end.code !== 0)
        return statuslineFailure(`ended with exit code ${end.code}${firstErrorLine(end.stderr.text)}`);
      return { kind: "lines", lines: styleLines(end.stdout.text) };
    case "killed":
      return statuslineFailure(`was ended by ${end.signal}`);
    case "timed-out":
      return statuslineFailure("did not end within its time limit and was ended");
    case "not-started":
      return statuslineFailure(`could not be started: ${end.why}`);
    case "aborted":
      return undefined;
  }
}

/** The first line of the error message. */
function firstErrorLine(stderr: string): string {
  const [first] = styleLines(stderr.replaceAll(stylePattern, ""));
  return first === undefined ? "" : `: ${first.trim().replace(/\.$/, "")}`;
}

const statuslineFailure = (why: string): StatuslineOutcome => ({ kind: "failed", why });

/** The first lines with content. Their colours and weights are kept; other control characters are made printable. */
export const styleLines = (output: string): readonly string[] =>
  output
    .split(/\r?\n/)
    .filter((line) => line.replaceAll(stylePattern, "").trim() !== "")
    .slice(0, statuslineLinesMax)
    .map(styleLine);

function styleLine(line: string): string {
  const cut = line.slice(0, statuslineCharsMax);
  const styles = cut.match(stylePattern) ?? [];
  const text = cut
    .split(stylePattern)
    .map((part, index) => `${toPrintable(part.replaceAll("\t", " "))}${styles[index] ?? ""}`)
    .join("");
  return styles.length === 0 ? text : `${text}${resetStyle}`;
}

// oxlint-disable-next-line no-control-regex -- what is looked for is a control character
const stylePattern = /\u001B\[[\d;:]*m/g;
const resetStyle = "\u001B[0m";

export interface StatuslineCommand {
  readonly command: string;
  readonly shell: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** As hooks run: in a process group of its own, ended as a whole. */
export const createStatuslineDeps = (command: StatuslineCommand): StatuslineDeps => ({
  run: (input, signal) => runHookProcess({ ...command, input, timeoutMs: statuslineTimeoutMs, signal }),
  // An abort only means that the pause is no longer needed.
  wait: (ms, signal) => wait(ms, undefined, { signal }).catch(() => {}),
});
