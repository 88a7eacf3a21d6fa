import type { LoopEvent } from "../../schema/loop-event.ts";
import { formatCount } from "../../text/format-count.ts";
import type { DoubtedCounter, DoubtedUsage } from "../../tokens/token-ledger.ts";

/** Warns once per conversation that the provider, or the caller's tokenizer, reports an implausible count. */
export class UsageDoubts {
  #hasWarned = false;
  #hasWarnedOfCounter = false;

  /** `before`: the doubted count when the request was sent. */
  *announce({
    before,
    now,
  }: {
    readonly before: DoubtedUsage | undefined;
    readonly now: DoubtedUsage | undefined;
  }): Generator<LoopEvent> {
    if (now === undefined || now.entry === before?.entry || this.#hasWarned) return;
    this.#hasWarned = true;
    yield { kind: "warning", code: "usage", message: doubtText(now) };
  }

  *tellCounter(doubted: DoubtedCounter | undefined): Generator<LoopEvent> {
    if (doubted === undefined || this.#hasWarnedOfCounter) return;
    this.#hasWarnedOfCounter = true;
    yield { kind: "warning", code: "token-counter", message: doubtedCounterText(doubted) };
  }
}

/** One line for the user. */
export const doubtText = ({ counted, estimate }: DoubtedUsage): string =>
  `The provider says that a request had ${formatCount(counted)} tokens; by our estimate it had about ${formatCount(estimate)}. That count is not believed: the estimate counts instead.`;

const doubtedCounterText = ({ counted, expected }: DoubtedCounter): string =>
  `The token counter says that a request has ${formatCount(counted)} tokens; it has about ${formatCount(expected)}. The counter is not believed: our estimate counts instead.`;
