import type { CostLedger } from "palimpsest/internal/cache/costs";
import { AskedCompaction } from "palimpsest/internal/context/compaction";
import { SessionView } from "palimpsest/internal/context/session-view";
import { startConversation } from "palimpsest/internal/context/start-conversation";
import type { Conversation, NewConversation } from "palimpsest/internal/context/conversation";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import { followUndo } from "palimpsest/internal/context/follow-undo";
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
