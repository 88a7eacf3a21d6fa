import type { ClockDep } from "../../ports/clock-dep.ts";
import type { CompactionPhase, LoopEvent } from "../../schema/loop-event.ts";
import type { WaitDep } from "../deps.ts";
import { keepAliveMillis, progressChars } from "./limits.ts";

/** Tells how far a compaction is: at each phase, every so many characters of a summary, and as a sign of life. */
export class CompactionProgress {
  readonly #deps: ClockDep & WaitDep;
  readonly #put: (event: LoopEvent) => void;
  #phase: CompactionPhase = "hooks";
  #chars = 0;
  #announcedChars = 0;

  constructor(deps: ClockDep & WaitDep, put: (event: LoopEvent) => void) {
    this.#deps = deps;
    this.#put = put;
  }

  enter(phase: CompactionPhase): void {
    this.#phase = phase;
    this.#chars = 0;
    this.#announce();
  }

  hear(text: string): void {
    this.#chars += text.length;
    if (this.#chars - this.#announcedChars >= progressChars) this.#announce();
  }

  /** Until the signal is raised. */
  async keepAlive(over: AbortSignal): Promise<void> {
    const { now, wait } = this.#deps;
    while (!over.aborted) {
      const before = now();
      await wait(keepAliveMillis, over);
      // A clock that stands still makes no time pass by waiting.
      if (over.aborted || now() - before < keepAliveMillis) return;
      this.#put({ kind: "compaction-progress", phase: this.#phase, chars: this.#chars });
    }
  }

  #announce(): void {
    this.#announcedChars = this.#chars;
    this.#put({ kind: "compaction-progress", phase: this.#phase, chars: this.#chars });
  }
}
