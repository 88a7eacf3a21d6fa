import { ProgressLine } from "palimpsest/internal/context/agents/progress-line";
import type { SessionContext } from "palimpsest/internal/context/session-context";
import { ConversationForks } from "palimpsest/internal/loop/conversation-forks";
import type { AgentSpec } from "palimpsest/internal/ports/agent-host";
import { millisByLifetime } from "palimpsest/internal/cache/lifetime";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { recordTurn } from "../record-turn.ts";

interface FollowedProgress {
  readonly during: (turn: AsyncIterable<LoopEvent>) => AsyncGenerator<LoopEvent>;
  readonly stop: () => Promise<void>;
}

/** A model is asked only about background agents: who waits for an agent sees its calls. `models`: the user's own prices. */
export function followProgress(
  context: SessionContext,
  { name, place, onProgress }: AgentSpec,
  models: readonly ModelOverride[],
): FollowedProgress {
  const { deps, conversation, session, backgroundSpend: spend } = context;
  const line = new ProgressLine({
    now: deps.now,
    wait: deps.wait,
    model: deps.model,
    settings: deps.settings,
    fork: new ConversationForks(context),
    costs: conversation.costs,
    spend,
    line: conversation.line,
    models,
    agentNanos: () => conversation.costs.session.totalNanos,
    cacheMillis: () => millisByLifetime[conversation.cache?.lifetime ?? "5m"],
    record: (draft) => session.append(draft),
    onLine: onProgress,
  });
  if (place === "background") line.start();
  return {
    stop: () => line.stop(),
    during: async function* (turn) {
      for await (const event of recordTurn(context, { turn, agent: name })) {
        line.observe(event);
        yield event;
      }
    },
  };
}
