import { clearAsked } from "../loop/agent/clearing.ts";
import type { Conversation } from "../loop/agent/conversation.ts";
import type { AgentDeps } from "../loop/agent/deps.ts";
import { cancelCompaction, commitCompaction } from "../loop/compact/commit.ts";
import type { CompactionAsk, Committed, Proposal, Proposed } from "../loop/compact/proposal.ts";
import { proposeCompaction } from "../loop/compact/runner.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { AgentCompacting } from "./compacting.ts";

/** Proposed first, so that a person sees what becomes of the view, and then committed or not. */
export interface AgentCompaction {
  propose(
    ask: Pick<CompactionAsk, "part" | "instructions" | "summary" | "over">,
    signal: AbortSignal,
  ): AsyncGenerator<LoopEvent, Proposed>;
  /** `edited`: with another summary, which passes the same gate. */
  commit(proposal: Proposal, edited?: { readonly summary: string }): AsyncGenerator<LoopEvent, Committed>;
  /** Books what it has cost; the view never knew of it. Gives the event that closes it. */
  cancel(proposal: Proposal): Promise<LoopEvent>;
  /** Without a summary: old results show their markers until the rest of them has at most so many tokens. */
  clear(downToTokens: number): ReturnType<typeof clearAsked>;
}

export interface CompactedBy {
  readonly conversation: Conversation;
  readonly compacting: AgentCompacting;
}

/** By hand: what a person asks of the agent. */
export const agentCompaction = (deps: AgentDeps, by: CompactedBy): AgentCompaction => ({
  propose: (ask, signal) =>
    proposeCompaction(deps, { ...by, ask: { ...ask, trigger: "manual", cause: "person" }, signal }),
  commit: (proposal, edited) => commitCompaction(deps, { ...by, proposal, edited }),
  cancel: (proposal) => cancelCompaction(deps, { compacting: by.compacting, proposal }),
  clear: (downToTokens) => clearAsked(deps, { conversation: by.conversation, downToTokens }),
});
