/**
 * Hands out slots in order: waiting → under way → spent, or back to waiting where the reply was lost. A lost slot is
 * dealt again before any new one, so that a retry gets the same move; who asks while it is under way gets the next.
 */
export class RetryQueue<Slot> {
  readonly #lost: QueuedSlot<Slot>[] = [];
  #dealt = 0;

  /** `next` is asked only where nothing was lost. */
  issue(next: () => Slot): IssuedSlot<Slot> {
    const dealt = this.#lost.shift() ?? { number: this.#dealt++, slot: next() };
    let open = true;
    return {
      slot: dealt.slot,
      delivered: () => {
        open = false;
      },
      lost: () => {
        if (open) this.#takeBack(dealt);
        open = false;
      },
    };
  }

  #takeBack(dealt: QueuedSlot<Slot>): void {
    const later = this.#lost.findIndex(({ number }) => number > dealt.number);
    this.#lost.splice(later === -1 ? this.#lost.length : later, 0, dealt);
  }
}

interface QueuedSlot<Slot> {
  readonly number: number;
  readonly slot: Slot;
}

/** The first of the two that is called counts. */
interface IssuedSlot<Slot> {
  readonly slot: Slot;
  readonly delivered: () => void;
  readonly lost: () => void;
}
