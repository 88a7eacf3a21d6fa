import type { CostLedger } from "../cache/costs.ts";
import { AskedCompaction } from "../context/compaction.ts";
import { SessionView } from "../context/session-view.ts";
import { startConversation } from "../context/start-conversation.ts";
import type { Conversation, NewConversation } from "../loop/agent/conversation.ts";
import type { AgentDeps } from "../loop/agent/deps.ts";
import { followUndo } from "../loop/agent/follow-undo.ts";
import type { Assembling } from "./assembling.ts";
import { type AgentCompacting, compactingFor, type CompactingInput } from "./compacting.ts";

export interface AgentContextInput
  extends
    Pick<NewConversation, "countedFixed" | "moved" | "known">,
    Pick<CompactingInput, "box" | "prefix" | "asks" | "baseline"> {
  readonly deps: AgentDeps;
  readonly costs: CostLedger;
}

export interface AgentContext {
  readonly conversation: Conversation;
  readonly compacting: AgentCompacting;
  readonly view: SessionView;
  readonly compaction: AskedCompaction;
}

/** A session as its agent talks in it, looks at it and compacts it. */
export function agentContext(
  parts: Assembling,
  { box, prefix, asks, deps, ...input }: AgentContextInput,
): AgentContext {
  const { session } = parts;
  const { baseline } = input;
  const { conversation, compacting } = startConversation(deps, {
    ...input,
    session,
    compacting: (of) => compactingFor(parts, { deps, box, prefix, baseline, asks, ...of }),
  });
  const view = new SessionView({
    session,
    deps: parts.deps,
    numbers: deps.numbers,
    thinking: () => conversation.known?.thinking,
    follow: async () => {
      await followUndo(conversation, session);
      await box.readAgain();
    },
  });
  return { conversation, compacting, view, compaction: new AskedCompaction(deps, () => conversation) };
}
