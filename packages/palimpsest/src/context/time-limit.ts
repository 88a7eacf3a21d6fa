import type { ClockDep } from "../ports/clock-dep.ts";
import { type Millis, millis } from "../schema/brand.ts";
import type { WaitDep } from "./deps.ts";
import { earlyWaitsMax } from "./limits.ts";

interface TimeLimits {
  /** From its beginning to its end. */
  readonly timeMillisMax: Millis;
  /** Without a sign of life; absent: silence is no reason. */
  readonly silenceMillisMax?: Millis | undefined;
}

/** Work that is stopped when it takes too long: its signal is raised then, and when the caller raises theirs. */
export class TimeLimit {
  readonly signal: AbortSignal;
  readonly #deps: ClockDep & WaitDep;
  readonly #limits: TimeLimits;
  readonly #late = new AbortController();
  readonly #over = new AbortController();
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

  /** One line for a person; undefined while there is time. */
  get exceeded(): string | undefined {
    if (!this.#late.signal.aborted) return undefined;
    const { timeMillisMax } = this.#limits;
    return this.#dueAt() === this.#startedAt + timeMillisMax
      ? `It took longer than ${formatSeconds(timeMillisMax)}.`
      : `Nothing came for ${formatSeconds(this.#limits.silenceMillisMax ?? timeMillisMax)}.`;
  }

  /** A sign of life. */
  heard(): void {
    this.#heardAt = this.#deps.now();
  }

  /** The work is done: nothing is waited for any more. */
  end(): void {
    this.#over.abort();
  }

  async #watch(): Promise<void> {
    const unwatched = AbortSignal.any([this.signal, this.#over.signal]);
    for (let early = 0; early <= earlyWaitsMax && !unwatched.aborted;) {
      const due = this.#dueAt();
      const left = due - this.#deps.now();
      if (left <= 0) return this.#late.abort();
      await this.#deps.wait(millis(left), unwatched);
      early = this.#dueAt() === due && this.#deps.now() < due ? early + 1 : 0;
    }
  }

  #dueAt(): number {
    const { timeMillisMax, silenceMillisMax = timeMillisMax } = this.#limits;
    return Math.min(this.#startedAt + timeMillisMax, this.#heardAt + silenceMillisMax);
  }
}

const formatSeconds = (time: Millis): string => `${Math.ceil(time / 1_000)} seconds`;
