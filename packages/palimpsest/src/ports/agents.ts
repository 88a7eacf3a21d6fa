import { type AgentRequest, type AgentRun, forkRefusalText } from "../schema/agent-run.ts";
import type { AgentId } from "../schema/brand.ts";
import type { Draft } from "../transcript/draft.ts";

/** The agents of one conversation: the ones that it started, in this process. */
export interface Agents {
  /** Resolves when the agent runs, or says why it does not. Must not reject. */
  start(request: AgentRequest): Promise<StartAgentOutcome>;
  /** Resolves when its turn is over. If the signal is aborted, the agent is stopped. Must not reject. */
  wait(id: AgentId, signal: AbortSignal): Promise<AgentRun | undefined>;
  /** A running agent gets it before its next request; an ended or lost one goes on with it. Must not reject. */
  send(message: AgentText): Promise<SendToAgentOutcome>;
  /** Its conversation stays and can be continued. Must not reject. */
  stop(id: AgentId): Promise<void>;
  /** Oldest first, with the agents that these have started. The most recently ended ones are kept. */
  list(): readonly AgentRun[];
  /** The whole report of an agent that has ended. Must not reject. */
  report(id: AgentId): Promise<string | undefined>;
  /** Reports of background agents that have ended and that the conversation has not seen; each is returned once. */
  takeNews(): readonly Draft[];
  /** Ends all agents; none can be started afterwards. Must not reject. */
  close(): Promise<void>;
}

/** `message` is for the model that asked. */
export type StartAgentOutcome =
  | { readonly kind: "started"; readonly run: AgentRun }
  | { readonly kind: "refused"; readonly message: string };

export interface AgentText {
  /** A name, an id, `main`, or `*` for all others that run. */
  readonly to: string;
  readonly text: string;
  /** Whose words they are: a name, or the user. */
  readonly from: { readonly kind: "agent"; readonly name: string } | { readonly kind: "user" };
}

export type SendToAgentOutcome =
  /** `resumed`: it had ended or was lost, and goes on now. */
  | { readonly kind: "queued" | "resumed"; readonly run: AgentRun }
  /** It was sent to all others that run, the main conversation among them. */
  | { readonly kind: "all"; readonly names: readonly string[] }
  /** It is for the main conversation, which gets it before its next request. */
  | { readonly kind: "main" }
  | { readonly kind: "unknown"; readonly names: readonly string[] }
  | { readonly kind: "refused"; readonly message: string };

/** For forks that leave no transcript: their tool definitions are the session's, and nobody would hear of their agents. */
export const forkAgents: Agents = {
  start: async () => ({
    kind: "refused",
    message: forkRefusalText,
  }),
  wait: async () => undefined,
  send: async () => ({ kind: "unknown", names: [] }),
  stop: async () => undefined,
  list: () => [],
  report: async () => undefined,
  takeNews: () => [],
  close: async () => undefined,
};
