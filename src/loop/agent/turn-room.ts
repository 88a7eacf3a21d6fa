import type { ModelFailure } from "../../ports/model.ts";
import type { LoopEvent, TurnEnd } from "../../schema/event.ts";
import { compactDue, type CompactNow } from "../compact/automatic.ts";
import type { AgentDeps } from "./deps.ts";

/** A reply that did not come to its own end. */
export interface CutReply {
  readonly reason: TurnEnd;
  readonly message?: string;
  /** Of the request that it answered. */
  readonly requestTokens: number;
}

/** What a turn does for room besides the layers, which look before each request: it compacts where one turned out to be too long, or the agent asked for it. */
export class TurnRoom {
  readonly #deps: AgentDeps;
  readonly #by: Omit<CompactNow, "ask">;
  /** Requests or replies since the last one that came to its end: the first is compacted and asked again, the second is told. */
  #overflows = 0;

  constructor(deps: AgentDeps, { conversation, signal }: Omit<CompactNow, "ask">) {
    this.#deps = deps;
    this.#by = { conversation, signal };
  }

  /** A reply came to its own end: there was room for it. */
  replied(): void {
    this.#overflows = 0;
  }

  /** The agent's own wish, now that every call has its answer. */
  async *asked(): AsyncGenerator<LoopEvent> {
    const wish = this.#by.conversation.compacting?.asks?.take();
    if (wish === undefined) return;
    yield* this.#compact({ cause: "agent", note: wish.note, because: "the agent asked for it" });
  }

  /** Too long for the provider, whatever we had reckoned. What the refusal says of the window counts at once. */
  async *refused({ limitTokens, limitOf = "window", message }: ModelFailure): AsyncGenerator<LoopEvent, Made> {
    const { model } = this.#by.conversation.baseline;
    if (limitTokens !== undefined) await this.#deps.learn({ model, limitTokens, limitOf, from: message });
    return yield* this.#overflowed(message);
  }

  /** A reply that broke off over the threshold, or where the provider's window ends, had too little room: the work goes on behind a summary, also one without a model. */
  async *cut({ reason, message, requestTokens }: CutReply): AsyncGenerator<LoopEvent, Made> {
    if (reason === "over-limit") return yield* this.#overflowed(message);
    const { thresholds, autoCompact } = this.#deps.numbers();
    if (reason === "refused" || autoCompact === "off" || requestTokens < thresholds.compact) return "failed";
    return yield* this.#compact({ cause: "limit", ...(message === undefined ? {} : { because: message }) });
  }

  async *#overflowed(because: string | undefined): AsyncGenerator<LoopEvent, Made> {
    const { switches, policy } = this.#deps.numbers();
    const isOn = switches["compact.reactive"].value && policy.summary?.failures.reactive === "once";
    this.#overflows += 1;
    if (!isOn || this.#overflows > 1) return "failed";
    return yield* this.#compact({ cause: "overflow", ...(because === undefined ? {} : { because }) });
  }

  #compact(ask: CompactNow["ask"]): AsyncGenerator<LoopEvent, Made> {
    return compactDue(this.#deps, { ...this.#by, ask });
  }
}

/** Whether there is room now. */
type Made = "compacted" | "failed" | "later";
