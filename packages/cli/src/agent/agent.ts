import type { CostSummary } from "palimpsest/internal/cache/cost-ledger";
import type { SessionContext } from "palimpsest/internal/context/session-context";
import type { SessionMode } from "./session/session-mode.ts";
import type { Session } from "palimpsest/internal/session/session";
import type { HookPayload } from "palimpsest/internal/ports/hooks";
import type { Agents } from "palimpsest/internal/ports/agents";
import type { Job, Jobs } from "palimpsest/internal/ports/jobs";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { LoopEvent, MemoriesSavedEvent } from "palimpsest/internal/schema/loop-event";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { AgentMail } from "../team/agent-mail.ts";
import type { FoundDefinitions } from "./agents/find-definitions.ts";
import type { SessionOwner } from "../host/session-owner.ts";
import type { TeamRefusal } from "../team/team-membership.ts";
import type { AgentDream } from "./memory/open-session-dream.ts";
import type { JobsAndServers } from "./tools/jobs-and-servers.ts";

export interface Agent {
  readonly kind: "agent";
  readonly session: Session;
  /** The session's context: the conversation, what the model sees of it, and compaction. */
  readonly context: SessionContext;
  readonly model: string;
  /** What was paid before the session was forked or copied from another; its own costs are in the conversation. */
  readonly inheritedCosts: CostSummary;
  /** Shown to the user before the first turn. */
  readonly warnings: readonly string[];
  readonly settingsProblems: readonly Problem[];
  /** `text` is undefined if the turn answers messages of other agents that have arrived. */
  turn(text: string | undefined, signal: AbortSignal): AsyncGenerator<LoopEvent>;
  /** Messages of other agents. Absent in a store without mailboxes. */
  readonly mail: AgentMail | undefined;
  /** The permission mode, to show it and to let the user change it. */
  readonly mode: Pick<SessionMode, "current" | "change" | "state">;
  /** How commands run now, to show it. */
  readonly sandbox: () => SandboxUse;
  /** Messages that the user types while a turn runs. */
  readonly queue: string[];
  /** Commands in the background, to show them. */
  readonly jobs: () => readonly Job[];
  /** Lets the user look at a job or end it. Absent if none may run. */
  readonly jobControl: Pick<Jobs, "peek" | "end"> | undefined;
  /**
   * Hands the jobs to the next agent of the same session; closing this one no longer ends them. Undefined if none may
   * run.
   */
  readonly handOverJobs: () => Jobs | undefined;
  /** Resolves with the MCP servers once each has answered or failed. Must not reject. */
  readonly serversSettled: JobsAndServers["serversSettled"];
  /** The agents that it has started. Absent if it can't. */
  readonly agents: Agents | undefined;
  /** The types of agents that it can start, and what is wrong with files that define some. Absent likewise. */
  readonly agentTypes: FoundDefinitions | undefined;
  /** Consolidates the project's memories. Absent if the store has none. */
  readonly dream: AgentDream | undefined;
  /** Other background work. */
  readonly aside: () => BackgroundState;
  /** Calls the listener with each event of background work, in a turn or between turns; kept ones first. */
  readonly onBackground: (listener: (event: LoopEvent) => void) => void;
  /** What background work of this agent has saved last. */
  readonly lastSaved: () => MemoriesSavedEvent | undefined;
  /** `simulated`: what the model costs is paid by nobody. */
  readonly billing: "real" | "simulated";
  /** Fixed until the session is closed: changes of the files count for the next session. */
  readonly hooks: readonly HookSetting[];
  /** The resolved settings as they are now, to show them. */
  readonly settings: () => ResolvedSettings;
  /** Tells the hooks that the agent waits for the user. Their answers are shown to the user. Must not reject. */
  notify(notice: UserNotice): Promise<readonly string[]>;
  /** Ends background work, some of it after a short wait, and books its cost. Call it before the final costs are shown. */
  stopAside(): Promise<void>;
  /** `why`: passed to the hooks; `other` if absent. */
  close(why?: SessionEndReason): Promise<void>;
  /** Closes the session; a new session without any message leaves no log behind. */
  discard(why?: SessionEndReason): Promise<void>;
}

export type SessionEndReason = Extract<HookPayload, { name: "SessionEnd" }>["reason"];
export type UserNotice = Omit<Extract<HookPayload, { name: "Notification" }>, "name">;

interface BackgroundState {
  readonly notes: "idle" | "running";
  readonly extraction: "idle" | "running";
  readonly dream: "idle" | "running";
  readonly preparation: "none" | "preparing" | "ready";
}

export type OpenAgentOutcome =
  | Agent
  | { readonly kind: "no-key"; readonly message: string }
  /** Settings may hold a deny rule that can't be read: nothing runs until the user has looked. */
  | { readonly kind: "unreadable-deny-rules"; readonly problems: readonly Problem[] }
  | { readonly kind: "missing"; readonly id: SessionId }
  /** To open it would put the agent's system prompt and tools into another program's conversation. */
  | { readonly kind: "not-ours"; readonly id: SessionId; readonly owner: Exclude<SessionOwner, "agent"> }
  | TeamRefusal
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;
