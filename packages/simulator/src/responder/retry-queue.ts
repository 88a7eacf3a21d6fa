/**
 * Hands out slots in order: waiting → in progress → spent, or back to waiting if the reply was lost. A lost slot is
 * handed out again before any new one, so that a retry gets the same move; a request that comes while it is in progress
 * gets the next.
 */
export class RetryQueue<Slot> {
  readonly #lost: QueuedSlot<Slot>[] = [];
  #issued = 0;

  /** `next` is called only if no lost slot waits. */
  issue(next: () => Slot): IssuedSlot<Slot> {
    const queued = this.#lost.shift() ?? { number: this.#issued++, slot: next() };
    let open = true;
    return {
      slot: queued.slot,
      delivered: () => {
        open = false;
      },
      lost: () => {
        if (open) this.#requeue(queued);
        open = false;
      },
    };
  }

  #requeue(queued: QueuedSlot<Slot>): void {
    const later = this.#lost.findIndex(({ number }) => number > queued.number);
    this.#lost.splice(later === -1 ? this.#lost.length : later, 0, queued);
  }
}

interface QueuedSlot<Slot> {
  readonly number: number;
  readonly slot: Slot;
}

/** Only the first of the two calls counts. */
interface IssuedSlot<Slot> {
  readonly slot: Slot;
  readonly delivered: () => void;
  readonly lost: () => void;
}
