import type { Millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { HookEnd } from "../tool/hooks/process.ts";
import { statuslineDebounceMs } from "./limits.ts";
import { type StatusLine, statusLineOf } from "./line.ts";

export interface StatuslineDeps {
  /** Runs the person's command with this text as its input. Must not reject. */
  readonly run: (input: string, signal: AbortSignal) => Promise<HookEnd>;
  /** Ends early where the signal is aborted. Must not reject. */
  readonly wait: (ms: Millis, signal: AbortSignal) => Promise<void>;
}

/**
 * A line under the editor that a person's command writes.
 *
 *   quiet ──update──▶ waiting ──statuslineDebounceMs──▶ running ──ends──▶ quiet: its line is told
 *   waiting ──update──▶ waiting: the time begins anew
 *   running ──update──▶ running, one behind it ──ends──▶ waiting: its line is told
 *   any ──close──▶ closed
 *
 * A run is let to its end, though something newer is there by then: where events come faster than a slow command, its line
 * would never be told otherwise.
 */
export class Statusline {
  readonly #deps: StatuslineDeps;
  readonly #onLine: (line: StatusLine) => void;
  readonly #closed = new AbortController();
  #waiting: AbortController | undefined;
  #run: "none" | "running" = "none";
  #behind: (() => JsonObject) | undefined;

  constructor(deps: StatuslineDeps, onLine: (line: StatusLine) => void) {
    this.#deps = deps;
    this.#onLine = onLine;
  }

  /** Something has changed; `status` is asked for when it is quiet. */
  update(status: () => JsonObject): void {
    if (this.#closed.signal.aborted) return;
    if (this.#run === "running") {
      this.#behind = status;
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
    const line = statusLineOf(end);
    if (line !== undefined) this.#onLine(line);
    const behind = this.#behind;
    this.#behind = undefined;
    if (behind !== undefined) this.update(behind);
  }
}
