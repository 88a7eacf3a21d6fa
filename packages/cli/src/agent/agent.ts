import type { CostSummary } from "palimpsest/internal/cache/cost-ledger";
import type { ManualCompaction } from "palimpsest/internal/context/manual-compaction";
import type { SessionView } from "palimpsest/internal/context/session-view";
import type { Conversation } from "palimpsest/internal/context/conversation";
import type { SessionMode } from "./session/session-mode.ts";
import type { Session } from "palimpsest/internal/session/session";
import type { HookPayload } from "palimpsest/internal/ports/hooks";
import type { Job, Jobs } from "palimpsest/internal/ports/jobs";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import type { ResolvedSettings } from "palimpsest/internal/settings/resolved-settings";
import type { Problem } from "palimpsest/internal/settings/problem";
import type { JobsAndServers } from "./tools/jobs-and-servers.ts";

export interface Agent {
  readonly kind: "agent";
  readonly session: Session;
  readonly conversation: Conversation;
  readonly model: string;
  /** What was paid before the session was forked or copied from another; its own costs are the conversation's. */
  readonly inheritedCosts: CostSummary;
  /** What a person should know before the first turn. */
  readonly warnings: readonly string[];
  readonly settingsProblems: readonly Problem[];
  turn(text: string, signal: AbortSignal): AsyncGenerator<LoopEvent>;
  /** The permission mode, for showing it and for a person to change it. */
  readonly mode: Pick<SessionMode, "current" | "change" | "state">;
  /** How commands run now, for showing it. */
  readonly sandbox: () => SandboxUse;
  /** For what a person says while a turn runs. */
  readonly queue: string[];
  /** Commands in the background, for showing them. */
  readonly jobs: () => readonly Job[];
  /** For a person who looks at one of them or ends it; absent where none may run. */
  readonly jobControl: Pick<Jobs, "peek" | "end"> | undefined;
  /** For the next agent of the same session: closing this one does not end them then. Absent where none may run. */
  readonly handOverJobs: () => Jobs | undefined;
  /** Of the MCP servers, once each has answered or has failed to. Must not reject. */
  readonly serversSettled: JobsAndServers["serversSettled"];
  /** What else runs beside the conversation. */
  readonly aside: () => BackgroundState;
  /** In force until the session is closed: what is written meanwhile waits for the next. */
  readonly hooks: readonly HookSetting[];
  /** Between turns: what the model sees of the session, and what a user does about it. */
  readonly view: SessionView;
  /** Between turns. */
  readonly compaction: ManualCompaction;
  /** In force now, for showing them. */
  readonly numbers: () => ResolvedSettings;
  /** Tells the hooks that a person is waited for. What they answer is for that person. Must not reject. */
  notify(notice: UserNotice): Promise<readonly string[]>;
  /** Stops what runs beside the turns, for good, and books what it has cost: before costs are told for the last time. */
  stopAside(): Promise<void>;
  /** `why`: for the hooks; `other` where it is absent. */
  close(why?: SessionEndReason): Promise<void>;
  /** Closes it; a new session in which nothing was ever said leaves no log behind. */
  discard(why?: SessionEndReason): Promise<void>;
}

export type SessionEndReason = Extract<HookPayload, { name: "SessionEnd" }>["reason"];
export type UserNotice = Omit<Extract<HookPayload, { name: "Notification" }>, "name">;

interface BackgroundState {
  readonly notes: "idle" | "running";
  readonly preparation: "none" | "preparing" | "ready";
}

export type OpenAgentOutcome =
  | Agent
  | { readonly kind: "no-key"; readonly message: string }
  /** Settings may hold a ban that can't be read: nothing runs until a person has looked. */
  | { readonly kind: "unread-bans"; readonly problems: readonly Problem[] }
  | { readonly kind: "missing"; readonly id: SessionId }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;
