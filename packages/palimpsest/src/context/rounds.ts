import type { WriteFailure } from "../ports/blobs.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Draft } from "../transcript/draft.ts";
import type { AppendEntriesOutcome } from "../session/session.ts";
import type { CallResult } from "./reply/round-results.ts";
import type { Conversation, ConversationContext } from "./conversation.ts";
import type { RoundsDeps } from "./deps.ts";
import { prepareRequest, type PrepareOutcome } from "./request/prepare-request.ts";
import type { PendingRequest } from "./request/assemble-request.ts";
import { RoundResults } from "./reply/round-results.ts";
import { type RefusalOutcome, type CutReply, TurnRecovery } from "./request/turn-recovery.ts";

interface RoundsInput {
  readonly signal: AbortSignal;
  /** The earlier rounds of the same turn, if it continues with another prefix. */
  readonly after?: Rounds | undefined;
}

/**
 * The rounds of one turn, step by step: messages, the next request, its refusal or its reply, the results of its calls.
 * The agent's turn and callers of the library take the same steps. Events are yielded as they happen; outcomes that the
 * caller can act on are returned.
 */
export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #conversation: Conversation;
  readonly #signal: AbortSignal;
  readonly #results: RoundResults;
  readonly #recovery: TurnRecovery;
  #requests: number;
  #sent: PendingRequest | undefined;

  constructor({ deps, conversation }: ConversationContext, { signal, after }: RoundsInput) {
    this.#deps = deps;
    this.#conversation = conversation;
    this.#signal = signal;
    this.#results = new RoundResults(deps, conversation);
    this.#recovery = new TurnRecovery(deps, { conversation, signal });
    this.#requests = after?.requests ?? 0;
    this.#sent = after?.sent;
  }

  /** Number of requests in the turn so far. */
  get requests(): number {
    return this.#requests;
  }

  /** The request that waits for its reply. */
  get sent(): PendingRequest | undefined {
    return this.#sent;
  }

  /** Settles calls that a killed run left open: it is unknown how far they got, so they are not run again. */
  async *begin(): AsyncGenerator<LoopEvent, WriteFailure | undefined> {
    const settled = await this.#conversation.line.settle();
    if (settled.kind === "failed") return settled;
    return yield* this.#results.offloadRecorded(this.#signal);
  }

  /** Appends a message of the user, the program or a hook. */
  say(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#conversation.line.append(...drafts);
  }

  /** Runs the layers and prepares the next request. What they decided about results so far is final. */
  async *next(
    signal: AbortSignal = this.#signal,
    ending: "user" | "reply" = "user",
  ): AsyncGenerator<LoopEvent, PrepareOutcome> {
    const conversation = this.#conversation;
    yield* conversation.compacting?.preparation?.news() ?? [];
    const opens = this.#requests === 0 ? "turn" : "nothing";
    const prepared = yield* prepareRequest(this.#deps, { conversation, signal, opens, ending, room: this.#recovery });
    if (prepared.kind !== "request") return prepared;
    this.#requests += 1;
    this.#sent = { conversation, assembled: prepared };
    this.#results.markSent();
    return prepared;
  }

  /** Called when the provider refused the request. Finds what can be sent instead. */
  refused(failure: ModelFailure): AsyncGenerator<LoopEvent, RefusalOutcome> {
    return this.#recovery.refused(failure);
  }

  /** Called when a reply was cut off. `compacted`: there is room for another one. */
  cut(reply: CutReply): ReturnType<TurnRecovery["cut"]> {
    this.#sent = undefined;
    return this.#recovery.cut(reply);
  }

  /** Gives up the pending request. */
  withdraw(): void {
    this.#sent = undefined;
  }

  /** Called when a reply is complete. */
  replied(): void {
    this.#sent = undefined;
    this.#recovery.replied();
  }

  /** Adds a result, which the first layer may offload. A write failure is reported at the end of the round. */
  result(result: CallResult): Promise<void> {
    return this.#results.add(result);
  }

  /** Ends the round: every result is in the transcript, or its write failure is returned. */
  resultsIn(): Generator<LoopEvent, WriteFailure | undefined> {
    return this.#results.endRound();
  }

  /** Notifies background work about the end of a round, without waiting for it. */
  ended(calls: number): void {
    const { compacting } = this.#conversation;
    compacting?.notes?.roundEnded(calls);
    compacting?.preparation?.roundEnded();
    for (const work of compacting?.background ?? []) work.roundEnded(calls);
  }
}
