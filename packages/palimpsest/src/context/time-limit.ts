import type { ClockDep } from "../ports/clock-dep.ts";
import { type Millis, millis } from "../schema/brand.ts";
import type { WaitDep } from "./deps.ts";
import { earlyWaitsMax } from "./limits.ts";

interface TimeLimits {
  /** For the whole work. */
  readonly timeMillisMax: Millis;
  /** Between two calls of `heard`; by default the work may stay silent for the whole time. */
  readonly silenceMillisMax?: Millis | undefined;
}

/** Limits the time of some work: the signal is aborted when the time is over, or when the caller's signal is aborted. */
export class TimeLimit {
  readonly signal: AbortSignal;
  readonly #deps: ClockDep & WaitDep;
  readonly #limits: TimeLimits;
  readonly #late = new AbortController();
  readonly #done = new AbortController();
  readonly #startedAt: Millis;
  #heardAt: Millis;

  constructor(deps: ClockDep & WaitDep, { signal, ...limits }: TimeLimits & { signal: AbortSignal }) {
    this.#deps = deps;
    this.#limits = limits;
    this.signal = AbortSignal.any([signal, this.#late.signal]);
    this.#startedAt = deps.now();
    this.#heardAt = this.#startedAt;
    void this.#watch();
  }

  /** One line for the user; undefined unless the time is over. */
  get exceeded(): string | undefined {
    if (!this.#late.signal.aborted) return undefined;
    const { timeMillisMax } = this.#limits;
    return this.#dueAt() === this.#startedAt + timeMillisMax
      ? `It took longer than ${formatSeconds(timeMillisMax)}.`
      : `Nothing came for ${formatSeconds(this.#limits.silenceMillisMax ?? timeMillisMax)}.`;
  }

  /** Called when the work shows a sign of life. */
  heard(): void {
    this.#heardAt = this.#deps.now();
  }

  /** Called when the work is done. Stops the timer. */
  end(): void {
    this.#done.abort();
  }

  async #watch(): Promise<void> {
    const stopped = AbortSignal.any([this.signal, this.#done.signal]);
    for (let early = 0; early <= earlyWaitsMax && !stopped.aborted;) {
      const due = this.#dueAt();
      const left = due - this.#deps.now();
      if (left <= 0) return this.#late.abort();
      await this.#deps.wait(millis(left), stopped);
      early = this.#dueAt() === due && this.#deps.now() < due ? early + 1 : 0;
    }
  }

  #dueAt(): number {
    const { timeMillisMax, silenceMillisMax = timeMillisMax } = this.#limits;
    return Math.min(this.#startedAt + timeMillisMax, this.#heardAt + silenceMillisMax);
  }
}

const formatSeconds = (time: Millis): string => `${Math.ceil(time / 1_000)} seconds`;
