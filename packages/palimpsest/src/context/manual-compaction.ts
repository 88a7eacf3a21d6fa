import type { ClearedEvent } from "../layers/layer.ts";
import { clearOnRequest } from "./request/run-layers.ts";
import type { Conversation } from "./conversation.ts";
import type { RequestDeps } from "./deps.ts";
import { cancelCompaction, commitCompaction } from "./compact/commit-compaction.ts";
import type { CompactionRequest, CommitOutcome, Proposal, ProposeOutcome } from "./compact/proposal.ts";
import { proposeCompaction } from "./compact/propose-compaction.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { LoopEvent } from "../schema/loop-event.ts";

/** Because a user asks for it: proposed first, so that they see what becomes of the view, and then committed or not. */
export class ManualCompaction {
  readonly #deps: RequestDeps;
  readonly #conversation: () => Conversation;

  constructor(deps: RequestDeps, conversation: () => Conversation) {
    this.#deps = deps;
    this.#conversation = conversation;
  }

  propose(
    ask: Pick<CompactionRequest, "part" | "instructions" | "summary" | "over">,
    signal: AbortSignal,
  ): AsyncGenerator<LoopEvent, ProposeOutcome> {
    return proposeCompaction(this.#deps, {
      ...this.#by,
      ask: { ...ask, trigger: "manual", cause: "person" },
      signal,
    });
  }

  /** `edited`: with another summary, which passes the same gate. */
  commit(proposal: Proposal, edited?: { readonly summary: string }): AsyncGenerator<LoopEvent, CommitOutcome> {
    return commitCompaction(this.#deps, { ...this.#by, proposal, edited });
  }

  /** Books what it has cost; the view never knew of it. Gives the event that closes it. */
  cancel(proposal: Proposal): Promise<LoopEvent> {
    return cancelCompaction(this.#deps, { compacting: this.#by.compacting, proposal });
  }

  /** Without a summary: old results show their markers until the rest of them has at most so many tokens. */
  clear(downToTokens: number): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
    return clearOnRequest(this.#deps, { conversation: this.#conversation(), downToTokens });
  }

  get #by() {
    const conversation = this.#conversation();
    const { compacting } = conversation;
    if (compacting === undefined) throw new TypeError("a conversation that never compacts");
    return { conversation, compacting };
  }
}
