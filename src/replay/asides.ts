import type { Message } from "../schema/block.ts";
import type { KnownCache } from "./known-cache.ts";
import type { Meter } from "./meter.ts";
import type { RecordedRound } from "./recording.ts";
import type { ReplayCache } from "./replay-cache.ts";
import type { Spending } from "./spending.ts";
import type { AsideRequest, SentRequest } from "./trace.ts";

export interface AsidesInput {
  readonly known: KnownCache;
  readonly meter: Meter;
  readonly cache: ReplayCache;
  readonly spending: Spending;
  readonly onRequest: ((sent: SentRequest) => void) | undefined;
}

export interface Aside extends Pick<AsideRequest, "kind" | "call"> {
  readonly messages: readonly Message[];
  /** What it asks for, where that is counted. */
  readonly directive?: Message;
  readonly outputTokens: number;
  /** Before or behind which it is sent. */
  readonly round: RecordedRound;
}

/** Requests beside those of the conversation: they leave nothing in the cache, and only a fork reads from it. */
export class Asides {
  readonly #input: AsidesInput;

  constructor(input: AsidesInput) {
    this.#input = input;
  }

  send({ kind, call, messages, directive, outputTokens, round }: Aside): void {
    const { known, meter, cache, spending, onRequest } = this.#input;
    const { breakpoints } = known.marksFor(messages, round.at);
    const prompt = meter.prompt(directive === undefined ? messages : [...messages, directive], breakpoints);
    const cacheReadTokens = call === "fork" ? cache.peek(prompt, round.at).cacheReadTokens : 0;
    const usage = {
      inputTokens: prompt.tokens - cacheReadTokens,
      cacheReadTokens,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
    };
    spending.request(usage);
    spending.output(outputTokens);
    onRequest?.({ kind, call, round, prompt, usage });
  }
}
