import type { WaitDep } from "../context/deps.ts";
import { raceAbort } from "../schema/race-abort.ts";
import { leaderWaitMs } from "./limits.ts";

/** A caller that may run must report its progress. Both functions may be called more than once. */
export interface StaggerPass {
  readonly begun: () => void;
  /** Called when it is over, however it ended. */
  readonly left: () => void;
}

/**
 * Lets one caller run first, and the others once it has begun: forks of one point can read their common part from the cache
 * only when the reply of the first one begins.
 *
 *   free ──a caller enters──▶ led ──it begins──▶ open: all callers may run
 *   led ──it leaves before it began──▶ free: one of the waiting callers leads, the others keep waiting
 *   led ──5 seconds──▶ open: a slow reply costs less than waiting for it
 */
export class Stagger {
  readonly #deps: WaitDep;
  #state: "free" | "led" | "open" = "free";
  #change = Promise.withResolvers<void>();

  constructor(deps: WaitDep) {
    this.#deps = deps;
  }

  /** Resolves when the caller may run, or when the signal is aborted: then it does not lead. */
  async enter(signal: AbortSignal): Promise<StaggerPass> {
    while (this.#state === "led" && !signal.aborted)
      await raceAbort(this.#change.promise, { signal, instead: () => undefined });
    if (this.#state !== "free" || signal.aborted) return follower;
    this.#setState("led");
    const over = new AbortController();
    void this.#openInTime(over.signal);
    return {
      begun: () => {
        over.abort();
        this.#setState("open");
      },
      left: () => {
        over.abort();
        if (this.#state === "led") this.#setState("free");
      },
    };
  }

  async #openInTime(over: AbortSignal): Promise<void> {
    await this.#deps.wait(leaderWaitMs, over);
    if (!over.aborted && this.#state === "led") this.#setState("open");
  }

  #setState(state: "free" | "led" | "open"): void {
    this.#state = state;
    const { resolve } = this.#change;
    this.#change = Promise.withResolvers<void>();
    resolve();
  }
}

/** For a caller that no other one waits for. */
export const follower: StaggerPass = { begun: () => undefined, left: () => undefined };
