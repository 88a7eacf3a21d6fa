import { unlessAborted } from "../schema/unless-aborted.ts";
/** What one that may go has to tell. Both may be told more than once. */
export interface Pass {
  readonly begun: () => void;
  /** It is over, however it ended. */
  readonly left: () => void;
}

/**
 * Lets one go first, and the others once it has begun.
 *
 *   free ──one enters──▶ led ──it begins──▶ open: everybody may go
 *   led ──it leaves before it began──▶ free: of those who wait one leads, the others go on waiting
 */
export class Stagger {
  #state: "free" | "led" | "open" = "free";
  #change = Promise.withResolvers<void>();

  /** Resolves when it may go, or when the signal is raised: then it leads nobody. */
  async enter(signal: AbortSignal): Promise<Pass> {
    while (this.#state === "led" && !signal.aborted)
      await unlessAborted(this.#change.promise, { signal, instead: () => undefined });
    if (this.#state !== "free" || signal.aborted) return follower;
    this.#become("led");
    return {
      begun: () => this.#become("open"),
      left: () => {
        if (this.#state === "led") this.#become("free");
      },
    };
  }

  #become(state: "free" | "led" | "open"): void {
    this.#state = state;
    const { resolve } = this.#change;
    this.#change = Promise.withResolvers<void>();
    resolve();
  }
}

/** For one that nobody waits for. */
export const follower: Pass = { begun: () => undefined, left: () => undefined };
