import type { Agent } from "../agent/agent.ts";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import type { Background, Figures } from "../tui/state/chat-shape.ts";

/** What the agent knows of itself, for the status line. */
export function figuresOf({ model, numbers, session, conversation, mode, sandbox }: Agent): Figures {
  const { thresholds, autoCompact } = numbers();
  const { hitRate, totalNanos: costNanos, unpriced: unpricedRequests } = conversation.costs.session;
  const usedTokens = session.ledger.size.tokens;
  const costs = { hitRate, costNanos, unpricedRequests };
  const held = sandbox().kind === "held" ? "held" : "none";
  return { model, usedTokens, thresholds, autoCompact, ...costs, mode: mode.current(), sandbox: held };
}

export const backgroundOf = ({ jobs, aside }: Agent): Omit<Background, "agents"> => ({
  ...aside(),
  jobs: jobs().filter(({ state }) => state.kind === "running").length,
});

/** Behind which events figures may be others. A reply comes in thousands of pieces, and none of them moves a sum. */
export function movesFigures({ kind }: LoopEvent): boolean {
  switch (kind) {
    case "text-delta":
    case "thinking-delta":
    case "compaction-progress":
    case "reply-start":
    case "permission-start":
    case "permission-end":
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
    case "message-queued":
    case "cache-break":
    case "turn-end":
      return true;
  }
}
