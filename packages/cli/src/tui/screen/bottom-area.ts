import type { Component } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Millis } from "palimpsest/internal/schema/brand";
import { spinnerFrameMs, statuslineLinesMax } from "../limits.ts";
import { type ChatState, isBusy, type Phase } from "../state/chat-state.ts";
import type { DrawingDep } from "../draw/draw-functions.ts";

/** What stands below the chat, from top to bottom: a warning, the spinner, what is queued, the slot, a hint, the status. */
export class BottomArea implements Component {
  readonly #deps: DrawingDep & ClockDep & { readonly requestRender: () => void };
  readonly #slot: Component;
  #state: ChatState | undefined;
  #since: Millis;
  #ticking: NodeJS.Timeout | undefined;
  #hint = "";
  #statusline: readonly string[] = [];
  #isHidden = false;

  constructor(deps: DrawingDep & ClockDep & { readonly requestRender: () => void }, slot: Component) {
    this.#deps = deps;
    this.#slot = slot;
    this.#since = deps.now();
  }

  show(state: ChatState): void {
    const begins = this.#state?.phase.kind !== state.phase.kind;
    if (begins && isNewWork(this.#state?.phase, state.phase)) this.#since = this.#deps.now();
    this.#state = state;
    this.#tick();
  }

  setHint(hint: string): void {
    this.#hint = hint;
  }

  setStatusline(lines: readonly string[]): void {
    this.#statusline = lines.slice(0, statuslineLinesMax);
  }

  /** Nothing of it is drawn, and no timer is left. */
  hide(): void {
    this.#isHidden = true;
    this.#tick();
  }

  /** As when something else has the screen: it stands where it was, and nothing of it moves. */
  pause(): void {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }

  resume(): void {
    this.#isHidden = false;
    this.#tick();
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

  #tick(): void {
    const isNeeded = !this.#isHidden && this.#state !== undefined && this.#state.phase.kind !== "idle";
    if (!isNeeded) this.pause();
    else this.#ticking ??= setInterval(this.#deps.requestRender, spinnerFrameMs);
  }
}

/** Seconds are counted from when the agent began to work; a summary has its own. */
const isNewWork = (before: Phase | undefined, after: Phase): boolean =>
  before === undefined || !isBusy(before) || before.kind === "compacting" || after.kind === "compacting";
