import type { ClockDep } from "../../ports/clock-dep.ts";
import type { CompactionPhase, LoopEvent } from "../../schema/loop-event.ts";
import type { WaitDep } from "../deps.ts";
import { keepAliveMillis, progressChars } from "./limits.ts";

/** Reports the progress of a compaction: at each phase, every `progressChars` of a summary, and as a sign of life. */
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

  /** Reports regularly until the signal is aborted. */
  async keepAlive(done: AbortSignal): Promise<void> {
    const { now, wait } = this.#deps;
    while (!done.aborted) {
      const before = now();
      await wait(keepAliveMillis, done);
      // With a clock that stands still, the loop would never wait.
      if (done.aborted || now() - before < keepAliveMillis) return;
      this.#put({ kind: "compaction-progress", phase: this.#phase, chars: this.#chars });
    }
  }

  #announce(): void {
    this.#announcedChars = this.#chars;
    this.#put({ kind: "compaction-progress", phase: this.#phase, chars: this.#chars });
  }
}
