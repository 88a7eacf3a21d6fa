import type { LoopEvent } from "../schema/loop-event.ts";
import type { AgentId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Draft } from "../transcript/draft.ts";
import type { AgentRequest, AgentWorktree } from "../schema/agent-run.ts";
import type { Agents } from "./agents.ts";

/** Opens the conversations of agents: a host knows their tools, permissions, prompts and models. */
export interface AgentHost {
  /** The names of the definitions, in the order in which they are offered. Must not reject. */
  types(): Promise<readonly string[]>;
  /** Must not reject. */
  open(spec: AgentSpec): Promise<OpenConversationOutcome>;
  /** What the transcript of an agent tells that is not open; undefined if there is none. Must not reject. */
  read(id: AgentId): Promise<AgentPast | undefined>;
}

export interface AgentSpec extends Pick<AgentRequest, "type" | "place" | "worktree" | "model"> {
  readonly id: AgentId;
  readonly name: string;
  readonly depth: number;
  /** `resume`: its transcript exists. */
  readonly mode: "new" | "resume";
  /** The agent that starts it; undefined for the main conversation. */
  readonly parent: AgentId | undefined;
  /** The agents that it may start. */
  readonly agents: Agents;
  /** Messages for it; each is returned once. To be asked for before each request. */
  readonly takeMail: () => readonly Draft[];
  /** Called with what it is doing, in a few words. */
  readonly onProgress: (line: string) => void;
  /** Called with every request that it has paid for. */
  readonly onPaid: (paid: AgentPayment) => void;
}

export interface AgentPast {
  readonly lastReply: string;
  /** Every request that it has paid for, oldest first. */
  readonly payments: readonly AgentPayment[];
}

export interface AgentPayment {
  readonly model: string;
  /** As the provider sent it. */
  readonly usage: JsonObject;
}

export type OpenConversationOutcome =
  | { readonly kind: "open"; readonly conversation: AgentConversation }
  /** `message` is for the model that asked. */
  | { readonly kind: "refused"; readonly message: string };

export interface AgentConversation {
  readonly model: string;
  readonly worktree?: AgentWorktree | undefined;
  /** Where the user finds its transcript; absent in stores without paths. */
  readonly transcriptPath?: string | undefined;
  turn(input: AgentTurn): AsyncIterable<LoopEvent>;
  /** Ends its commands and closes its transcript. Says what became of its worktree. Must not reject. */
  close(): Promise<{ readonly worktree?: AgentWorktree | undefined }>;
}

export interface AgentTurn {
  /** Undefined: it answers its mail. */
  readonly text: string | undefined;
  readonly signal: AbortSignal;
  readonly roundsMax: number;
}
