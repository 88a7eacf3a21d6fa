/** The public names of `palimpsest/loop`: a turn with tools, its forks, and the agents of a session. */
export type { AgentDeps } from "../context/deps.ts";
export type { ConversationContext } from "../context/conversation.ts";
export { CostLedger, type CostReport, type CostSummary } from "../cache/cost-ledger.ts";
export { ConversationForks } from "./conversation-forks.ts";
export { runTurn, type TurnInput } from "./run-turn.ts";
export { SessionAgents, type SessionAgentsDeps } from "./session-agents.ts";
export { type AgentPlan, type AgentPlanInput, forkType, planAgent } from "../layers/7-agents/plan.ts";
export { forkDirective, forkPlaceholder } from "../layers/7-agents/agent-texts.ts";
export { type AgentReport, renderReport } from "../layers/7-agents/render-report.ts";
export { forkSession } from "../session/fork-session.ts";
export { Stagger, type StaggerPass } from "./stagger.ts";
export { type HookContext, type Hooks, noHooks } from "../ports/hooks.ts";
export type {
  AgentConversation,
  AgentHost,
  AgentPast,
  AgentPayment,
  AgentSpec,
  AgentTurn,
  OpenConversationOutcome,
} from "../ports/agent-host.ts";
export type { Agents, AgentText, SendToAgentOutcome, StartAgentOutcome } from "../ports/agents.ts";
export type { AgentEnd, AgentRequest, AgentRun, AgentState, AgentUsage, AgentWorktree } from "../schema/agent-run.ts";
export type { LoopEvent } from "../schema/loop-event.ts";
export { type AgentId, type NanoUsd, nanoUsd } from "../schema/brand.ts";
