import type { AgentId, Millis, NanoUsd, Tokens, ToolUseId } from "./brand.ts";
import type { JsonObject } from "./json.ts";

/**
 * One agent that a conversation has started, as it is now.
 *
 *   running ──its turn ends──▶ ended ──a message──▶ running: the same conversation goes on
 *   running ──the process ends──▶ lost ──a message──▶ running
 */
export interface AgentRun {
  readonly id: AgentId;
  /** Unique among the agents of the session; messages are sent to it. */
  readonly name: string;
  /** The name of its definition; `fork` for a fork of the conversation. */
  readonly type: string;
  /** Its task in a few words, for lists. */
  readonly description: string;
  /** The agent that started it; undefined for the main conversation. */
  readonly parent?: AgentId | undefined;
  /** 1 for an agent of the main conversation. */
  readonly depth: number;
  readonly place: "foreground" | "background";
  readonly model: string;
  readonly startedAt: Millis;
  readonly state: AgentState;
  readonly usage: AgentUsage;
  /** The newest calls that were not allowed to run, oldest first. */
  readonly denials?: readonly DeniedCall[] | undefined;
  /** What it does now, in a few words. */
  readonly progress?: string | undefined;
  readonly worktree?: AgentWorktree | undefined;
}

export type AgentState =
  | { readonly kind: "running" }
  | { readonly kind: "ended"; readonly at: Millis; readonly how: AgentEnd; readonly report: string }
  /** It ran when its process ended. Its transcript is there. */
  | { readonly kind: "lost" };

/** `limit`: of rounds or of money. `stopped`: by the user, by its parent, or because the session was closed. */
export type AgentEnd = "answered" | "failed" | "limit" | "stopped";

export interface AgentUsage {
  readonly requests: number;
  readonly calls: number;
  /** Of these: those that were not allowed to run. */
  readonly denied: number;
  /** Everything that was sent and received. */
  readonly tokens: Tokens;
  readonly nanos: NanoUsd;
}

export interface DeniedCall {
  readonly id: ToolUseId;
  readonly tool: string;
  readonly input: JsonObject;
}

/** A git worktree of its own. `kept`: it has changes; `removed`: it had none. */
export interface AgentWorktree {
  readonly path: string;
  readonly branch: string;
  readonly state: "in-use" | "kept" | "removed";
}

/** For the model of a fork that asks for an agent. */
export const forkRefusalText =
  "A fork can't start agents. Do this part yourself, or say in your report what another agent should do.";

/** What agents call the conversation that the user talks with. */
export const mainName = "main";

export interface AgentRequest {
  /** The name of a definition, or `fork`: it begins with the conversation so far. */
  readonly type: string;
  /** Absent: after its type. */
  readonly name?: string | undefined;
  /** A few words, for lists. */
  readonly description: string;
  /** Its task. */
  readonly prompt: string;
  readonly place: "foreground" | "background";
  /** `own`: it works in a git worktree of its own. */
  readonly worktree: "shared" | "own";
  /** Absent: the model of its definition, or its parent's. A fork always has its parent's. */
  readonly model?: string | undefined;
}
