import type { Conversation } from "../loop/agent/conversation.ts";
import type { AgentDeps } from "../loop/agent/deps.ts";
import { cancelCompaction, commitCompaction } from "../loop/compact/commit.ts";
import { proposeCompaction } from "../loop/compact/runner.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { CompactOptions, CompactOutcome } from "./outcomes.ts";

export interface CompactInput extends CompactOptions {
  readonly conversation: Conversation;
  readonly signal: AbortSignal;
}

/** Because the caller asks for it. A preview books what its summary has cost and leaves the view as it is. */
export async function* compactContext(
  deps: AgentDeps,
  { conversation, preview = false, instructions, signal }: CompactInput,
): AsyncGenerator<LoopEvent, CompactOutcome> {
  const { compacting } = conversation;
  if (compacting === undefined) throw new TypeError("a context that never compacts");
  const asked = instructions === undefined ? {} : { instructions };
  const ask = { trigger: "manual", cause: "person", part: { kind: "all" }, ...asked } as const;
  const proposed = yield* proposeCompaction(deps, { conversation, compacting, ask, signal });
  if (proposed.kind === "failed") return proposed;
  const { proposal } = proposed;
  const shown = { summary: proposal.summary, preview: proposal.preview };
  if (preview) {
    await cancelCompaction(deps, { compacting, proposal });
    return { kind: "preview", ...shown };
  }
  const committed = yield* commitCompaction(deps, { conversation, compacting, proposal });
  return committed.kind === "committed"
    ? { kind: "compacted", ...shown }
    : { kind: "failed", reason: committed.reason, message: committed.message };
}
