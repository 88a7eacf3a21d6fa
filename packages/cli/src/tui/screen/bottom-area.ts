import type { Component } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Millis } from "palimpsest/internal/schema/brand";
import { spinnerFrameMs, statuslineLinesMax } from "../limits.ts";
import { type ChatState, isBusy, type Phase } from "../state/chat-state.ts";
import type { DrawingDep } from "../draw/draw-functions.ts";

/** The area below the chat, from top to bottom: warning, spinner, queue, editor slot, hint, status. */
export class BottomArea implements Component {
  readonly #deps: DrawingDep & ClockDep & { readonly requestRender: () => void };
  readonly #slot: Component;
  #state: ChatState | undefined;
  /** When the current work began. */
  #since: Millis;
  #spinnerTimer: NodeJS.Timeout | undefined;
  #hint = "";
  #statusline: readonly string[] = [];
  #isHidden = false;

  constructor(deps: DrawingDep & ClockDep & { readonly requestRender: () => void }, slot: Component) {
    this.#deps = deps;
    this.#slot = slot;
    this.#since = deps.now();
  }

  show(state: ChatState): void {
    const isNewPhase = this.#state?.phase.kind !== state.phase.kind;
    if (isNewPhase && isNewWork(this.#state?.phase, state.phase)) this.#since = this.#deps.now();
    this.#state = state;
    this.#updateTimer();
  }

  setHint(hint: string): void {
    this.#hint = hint;
  }

  setStatusline(lines: readonly string[]): void {
    this.#statusline = lines.slice(0, statuslineLinesMax);
  }

  /** Draws nothing from now on, and stops the timer. */
  hide(): void {
    this.#isHidden = true;
    this.#updateTimer();
  }

  /** Stops the spinner while something else has the screen. */
  pause(): void {
    clearInterval(this.#spinnerTimer);
    this.#spinnerTimer = undefined;
  }

  resume(): void {
    this.#isHidden = false;
    this.#updateTimer();
  }

  invalidate(): void {
    this.#slot.invalidate();
  }

  render(width: number): string[] {
    const { drawing, now } = this.#deps;
    const state = this.#state;
    if (this.#isHidden) return [];
    const slot = this.#slot.render(width);
    if (state === undefined) return slot;
    const { status, phase, queue } = state;
    return [
      "",
      ...drawing.warning(status, width),
      ...drawing.phase(phase, { width, now: now(), since: this.#since }),
      ...drawing.queue(queue, width),
      ...slot,
      ...(this.#hint === "" ? [] : drawing.hint(this.#hint, width)),
      ...drawing.status(status, width),
      ...this.#statusline.map((line) => drawing.styled(line, width)),
    ];
  }

  #updateTimer(): void {
    const isNeeded = !this.#isHidden && this.#state !== undefined && this.#state.phase.kind !== "idle";
    if (!isNeeded) this.pause();
    else this.#spinnerTimer ??= setInterval(this.#deps.requestRender, spinnerFrameMs);
  }
}

/** Seconds count from when the agent began to work; a compaction has its own count. */
const isNewWork = (before: Phase | undefined, after: Phase): boolean =>
  before === undefined || !isBusy(before) || before.kind === "compacting" || after.kind === "compacting";
