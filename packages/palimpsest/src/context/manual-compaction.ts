import type { ClearedEvent } from "../layers/layer.ts";
import { clearOnRequest } from "./request/run-layers.ts";
import type { ConversationContext } from "./conversation.ts";
import { cancelCompaction, commitCompaction } from "./compact/commit-compaction.ts";
import type { CompactionRequest, CommitOutcome, Proposal, ProposeOutcome } from "./compact/proposal.ts";
import { proposeCompaction } from "./compact/propose-compaction.ts";
import type { CompactOptions, CompactOutcome } from "./outcomes.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { LoopEvent } from "../schema/loop-event.ts";

/** Compaction at the user's request: proposed first, so that the user sees its effect, then committed or cancelled. */
export class ManualCompaction {
  readonly #context: ConversationContext;

  constructor(context: ConversationContext) {
    this.#context = context;
  }

  /** Proposes and commits at once, or only shows the effect. */
  async *compact(
    { preview = false, instructions }: CompactOptions,
    signal: AbortSignal,
  ): AsyncGenerator<LoopEvent, CompactOutcome> {
    const request = { part: { kind: "all" }, ...(instructions === undefined ? {} : { instructions }) } as const;
    const proposed = yield* this.propose(request, signal);
    if (proposed.kind === "failed") return proposed;
    const { proposal } = proposed;
    const shown = { summary: proposal.summary, preview: proposal.preview };
    if (preview) {
      yield await this.cancel(proposal);
      return { kind: "preview", ...shown };
    }
    const committed = yield* this.commit(proposal);
    return committed.kind === "committed" ? { kind: "compacted", ...shown } : committed;
  }

  propose(
    request: Pick<CompactionRequest, "part" | "instructions" | "summary" | "over">,
    signal: AbortSignal,
  ): AsyncGenerator<LoopEvent, ProposeOutcome> {
    return proposeCompaction(this.#context.deps, {
      ...this.#compacted,
      ask: { ...request, trigger: "manual", cause: "person" },
      signal,
    });
  }

  /** `edited`: the user's summary in place of the proposed one; it passes the same checks. */
  commit(proposal: Proposal, edited?: { readonly summary: string }): AsyncGenerator<LoopEvent, CommitOutcome> {
    return commitCompaction(this.#context.deps, { ...this.#compacted, proposal, edited });
  }

  /** Books the cost of the proposal, which leaves the view unchanged. Returns the final event. */
  cancel(proposal: Proposal): Promise<LoopEvent> {
    return cancelCompaction(this.#context.deps, { compacting: this.#compacted.compacting, proposal });
  }

  /** Clears old results, without a summary, until the remaining ones have at most this many tokens. */
  clear(downToTokens: number): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
    return clearOnRequest(this.#context.deps, { conversation: this.#context.conversation, downToTokens });
  }

  get #compacted() {
    const { conversation } = this.#context;
    const { compacting } = conversation;
    if (compacting === undefined) throw new TypeError("this conversation can't be compacted");
    return { conversation, compacting };
  }
}
