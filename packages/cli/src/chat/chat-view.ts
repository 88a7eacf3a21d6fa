import type { Agent } from "../agent/agent.ts";
import { type Millis, tokens } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import type { ChatState, BackgroundWork, AgentFigures } from "../tui/state/chat-state.ts";
import { type CallProgress, type ChatAction, updateChat, createChat } from "../tui/state/update-chat.ts";
import { callTitle } from "../tui/text/call-title.ts";
import { agentToolName } from "../tool/agent-tool.ts";
import { formatAgentUsage } from "palimpsest/internal/layers/7-agents/format-agent-run";

export interface ChatViewDeps {
  readonly show: (state: ChatState) => void;
  readonly now: () => Millis;
}

/** The state that a chat shows, and its drawing. */
export class ChatView {
  readonly #deps: ChatViewDeps;
  #state: ChatState = {
    ...createChat({ model: "", thresholds: unknownThresholds, autoCompact: "off" }),
    phase: { kind: "opening" },
  };

  constructor(deps: ChatViewDeps) {
    this.#deps = deps;
  }

  get state(): ChatState {
    return this.#state;
  }

  act(act: ChatAction): void {
    this.change((state) => updateChat(state, act));
  }

  change(update: (state: ChatState) => ChatState): void {
    this.#state = update(this.#state);
    this.#deps.show(this.#state);
  }

  event(agent: Agent, event: LoopEvent): void {
    this.#state = updateChat(this.#state, { kind: "event", event, at: this.#deps.now() });
    if (changesFigures(event)) this.refresh(agent);
    else this.#deps.show(this.#state);
  }

  /** Redraws with the current figures. */
  refresh(agent: Agent): void {
    this.#state = updateChat(this.#state, { kind: "figures", figures: agentFigures(agent) });
    this.#state = updateChat(this.#state, { kind: "progress", progress: agentProgress(agent) });
    this.act({ kind: "background", background: agentBackground(agent) });
  }
}

/** Unknown until an agent is open. */
const noTokens = tokens(0);
const unknownThresholds: Thresholds = {
  window: noTokens,
  outputReserve: noTokens,
  effective: noTokens,
  compact: noTokens,
  limit: noTokens,
  warning: noTokens,
  error: noTokens,
  blocking: noTokens,
};

/** What the status line shows about the agent. */
export function agentFigures({ model, settings, session, context, mode, sandbox, billing }: Agent): AgentFigures {
  const { thresholds, autoCompact } = settings();
  const { hitRate, totalNanos: costNanos, unpriced: unpricedRequests } = context.conversation.costs.session;
  const usedTokens = session.ledger.size.tokens;
  const costs = { hitRate, costNanos, unpricedRequests, billing };
  const sandboxState = sandbox().kind === "held" ? "held" : "none";
  return { model, usedTokens, thresholds, autoCompact, ...costs, mode: mode.current(), sandbox: sandboxState };
}

export const agentBackground = ({ jobs, aside, agents }: Agent): BackgroundWork => ({
  ...aside(),
  jobs: jobs().filter(({ state }) => state.kind === "running").length,
  agents: agents?.list().filter(({ state }) => state.kind === "running").length ?? 0,
});

/** What the agents do that calls wait for; of one that has said nothing yet, what it has used. */
const agentProgress = ({ agents }: Pick<Agent, "agents">): readonly CallProgress[] =>
  (agents?.list() ?? [])
    .filter(({ state, place, depth }) => state.kind === "running" && place === "foreground" && depth === 1)
    .map(({ type, description, progress, usage }) => ({
      tool: agentToolName,
      title: callTitle(agentToolName, { type, description }),
      text: progress ?? (usage.tokens === 0 ? "" : formatAgentUsage(usage)),
    }));

/**
 * Whether figures may have changed with an event. A reply comes in thousands of deltas, and none of them changes a sum.
 */
export function changesFigures({ kind }: LoopEvent): boolean {
  switch (kind) {
    case "text-delta":
    case "thinking-delta":
    case "compaction-progress":
    case "reply-start":
    case "permission-start":
    case "permission-end":
    case "edit-planned":
    case "warning":
      return false;
    case "turn-start":
    case "request-start":
    case "reply-end":
    case "retry-start":
    case "call-start":
    case "call-end":
    case "edit":
    case "cleared":
    case "left-out":
    case "server-cleared":
    case "no-headroom":
    case "compaction-start":
    case "compacted":
    case "compaction-failed":
    case "preparation":
    case "memories-saved":
    case "agent-ended":
    case "message-queued":
    case "cache-break":
    case "turn-end":
      return true;
  }
}
