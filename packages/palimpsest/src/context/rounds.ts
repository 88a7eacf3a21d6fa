import type { WriteFailure } from "../ports/blobs.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Draft } from "../transcript/draft.ts";
import type { AppendEntriesOutcome } from "../session/session.ts";
import type { CallResult } from "./reply/round-results.ts";
import type { Conversation } from "./conversation.ts";
import type { RoundsDeps } from "./deps.ts";
import { prepareRequest, type PrepareOutcome } from "./request/prepare-request.ts";
import type { PendingRequest } from "./request/assemble-request.ts";
import { RoundResults } from "./reply/round-results.ts";
import { type RefusalOutcome, type CutReply, TurnRecovery } from "./request/turn-recovery.ts";

interface RoundsInput {
  readonly conversation: Conversation;
  readonly signal: AbortSignal;
  /** The rounds of the same turn so far, where it goes on with another prefix. */
  readonly after?: Rounds;
}

/**
 * The rounds of one turn, step by step: what is said, the next request, its refusal or its reply, the results of its calls.
 * The agent's turn and a caller of the library take the same steps. Events come as they happen; what a caller can do
 * something about is returned.
 */
export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #input: RoundsInput;
  readonly #results: RoundResults;
  readonly #room: TurnRecovery;
  #requests: number;
  #sent: PendingRequest | undefined;

  constructor(deps: RoundsDeps, input: RoundsInput) {
    this.#deps = deps;
    this.#input = input;
    this.#results = new RoundResults(deps, input.conversation);
    this.#room = new TurnRecovery(deps, input);
    this.#requests = input.after?.requests ?? 0;
    this.#sent = input.after?.sent;
  }

  /** How many requests the turn has had. */
  get requests(): number {
    return this.#requests;
  }

  /** The request that waits for its reply. */
  get sent(): PendingRequest | undefined {
    return this.#sent;
  }

  /** A run that was killed left calls open: nobody knows how far they came, so they are answered and not run again. */
  async *begin(): AsyncGenerator<LoopEvent, WriteFailure | undefined> {
    const settled = await this.#input.conversation.line.settle();
    if (settled.kind === "failed") return settled;
    return yield* this.#results.offloadRecorded(this.#input.signal);
  }

  /** What the user, the program or a hook says. */
  say(...drafts: readonly Draft[]): Promise<AppendEntriesOutcome> {
    return this.#input.conversation.line.append(...drafts);
  }

  /** The next request. The layers run here, and what they decided about results so far is final. */
  async *next(signal: AbortSignal = this.#input.signal): AsyncGenerator<LoopEvent, PrepareOutcome> {
    const { conversation } = this.#input;
    yield* conversation.compacting?.preparation?.news() ?? [];
    const opens = this.#requests === 0 ? "turn" : "nothing";
    const prepared = yield* prepareRequest(this.#deps, { conversation, signal, opens, room: this.#room });
    if (prepared.kind !== "request") return prepared;
    this.#requests += 1;
    this.#sent = { conversation, assembled: prepared };
    this.#results.markSent();
    return prepared;
  }

  /** The provider refused the request: what can be sent instead. */
  refused(failure: ModelFailure): AsyncGenerator<LoopEvent, RefusalOutcome> {
    return this.#room.refused(failure);
  }

  /** A reply that did not come to its own end. `compacted`: there is room for another. */
  cut(reply: CutReply): ReturnType<TurnRecovery["cut"]> {
    this.#sent = undefined;
    return this.#room.cut(reply);
  }

  /** The request that waits for its reply is given up. */
  withdraw(): void {
    this.#sent = undefined;
  }

  /** A reply came to its own end. */
  replied(): void {
    this.#sent = undefined;
    this.#room.replied();
  }

  /** Through the first layer. What can't be written is told at the end of the round. */
  result(result: CallResult): Promise<void> {
    return this.#results.add(result);
  }

  /** Every result of the round that has come so far is in the transcript, or is told as not written. */
  resultsIn(): Generator<LoopEvent, WriteFailure | undefined> {
    return this.#results.endRound();
  }

  /** For what runs beside the conversation: nothing of it is waited for. */
  ended(calls: number): void {
    const { compacting } = this.#input.conversation;
    compacting?.notes?.roundEnded(calls);
    compacting?.preparation?.roundEnded();
  }
}
