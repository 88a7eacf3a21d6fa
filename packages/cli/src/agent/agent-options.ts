import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { UserPort } from "palimpsest/internal/ports/user-port";
import type { PlanReview } from "palimpsest/internal/ports/plan-mode";
import type { SecretScanner } from "palimpsest/internal/ports/secret-scanner";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { ConnectServer } from "palimpsest/internal/ports/tool-server";
import type { ImportAnswer } from "palimpsest/internal/memory/load-instruction-file";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { FlagInput } from "../settings/flag-values.ts";
import type { PermissionMode } from "../tool/permission/decide-permission.ts";
import type { Net } from "../tool/web/get-page.ts";
import type { AskAboutEdit } from "./approve-dear-edits.ts";
import type { ModelChoice } from "./model/model-choice.ts";
import type { StartTeammate } from "../team/team-control.ts";
import type { PermissionChoice, ToolOptions } from "./tools/permission-choice.ts";
import type { Workspace } from "../host/workspace.ts";
import type { ProjectStore } from "../host/project-store.ts";
import type { ClearableResults } from "palimpsest/internal/layers/2-clear/is-rerunnable";
import type { Session } from "palimpsest/internal/session/session";
import type { SessionRedaction } from "./session/session-redaction.ts";

export interface AgentOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly flags: readonly FlagInput[];
  readonly session: SessionChoice;
  readonly model: ModelChoice;
  readonly tools: ToolOptions;
  /**
   * Asked for permission, and by the tool `ask_user`. Absent: the agent has no such tool, and calls that need an answer
   * are denied.
   */
  readonly user?: UserPort | undefined;
  /**
   * Asked about edits of the view that are made only because they pay, from the price on that the setting
   * `askAboveDollars` names. Absent: they are made.
   */
  readonly approveEdit?: AskAboutEdit | undefined;
  /**
   * How `web_fetch` and instructions from addresses reach the network. Absent: the agent has no such tool, and of
   * addresses only cached copies count.
   */
  readonly net?: Net | undefined;
  /** Reviews plans. Absent: the agent has no tool to submit one. */
  readonly planReview?: PlanReview | undefined;
  /**
   * `on`: commands may run in the background until the session is closed. Absent: off, and the agent has no tools for
   * it. A `Jobs`: the jobs that the previous agent of the same session handed over.
   */
  readonly jobs?: "on" | "off" | Jobs;
  /**
   * `on`: the provider is asked for the model's sizes during the first turn, at most once a week. Absent: off; only
   * earlier answers count.
   */
  readonly askSizes?: "on" | "off";
  /**
   * `on`: the provider is asked to count system prompt and tools during the first turn, once for each set of them.
   * Absent: off; only earlier counts are used.
   */
  readonly countFixedPart?: "on" | "off";
  /**
   * The sandbox found on this machine, for commands and the project's servers. Absent: they run as this process does,
   * whatever the settings say.
   */
  readonly sandbox?: SandboxSearchOutcome | undefined;
  /** How MCP servers are reached. Absent: none is started, whatever the settings define. */
  readonly connectServer?: ConnectServer | undefined;
  /** `on`: sessions that are older than the setting `retentionDays` are deleted in the background. Absent: off. */
  readonly retention?: "on" | "off";
  /** `one`: the agent is closed after its first turn, so it starts no background work at its end. Absent: many. */
  readonly turns?: "one" | "many";
  /** What hooks are told instead of how the session was chosen: the user left another session for this one. */
  readonly startedBy?: "clear" | undefined;
  /**
   * The mode of the session that the user came from; it replaces the mode in `tools`. The session gets no wider than
   * this by itself, and it is not a request by the user to widen it.
   */
  readonly carriedMode?: PermissionMode | undefined;
  /** Folders with instructions of whoever runs the machine. Absent: where they are on this system. */
  readonly managedFolders?: readonly string[] | undefined;
  /** What the user answered, for this chat only, about files outside of the project that instructions import. */
  readonly importAnswers?: ReadonlyMap<string, ImportAnswer> | undefined;
  /** The place in a team that the session takes. Absent: it is in none. */
  readonly team?: TeamOptions | undefined;
  /** `on`: the session listens at a Unix socket for messages of sessions with another home. Absent: off. */
  readonly socket?: "on" | "off" | undefined;
  /** The session can do at most this, whatever flags, settings and its log say. Absent: no such limit. */
  readonly permissionLimit?: PermissionChoice | undefined;
  /** Cancels the hooks of the session start, when the caller no longer waits for it. */
  readonly signal?: AbortSignal | undefined;
}

export interface TeamOptions {
  readonly team: string;
  /** Undefined: the leader. */
  readonly name: string | undefined;
  /** `chat`: a user talks with it. `served`: it works on what it is sent. */
  readonly way: "chat" | "served";
  /** How a leader starts teammates. Absent: it can't. */
  readonly startTeammate?: StartTeammate | undefined;
}

export type SessionChoice =
  | { readonly kind: "new" }
  | { readonly kind: "resume"; readonly id: SessionId }
  /** A new session that begins with everything the named one holds. */
  | { readonly kind: "fork"; readonly id: SessionId };

/** What an agent is assembled from. */
export interface AgentParts {
  readonly workspace: Workspace;
  readonly options: AgentOptions;
  readonly deps: ProjectStore;
  /** The project's folder. */
  readonly root: string;
  readonly session: Session;
  /** Finds secrets before something is written to notes or memory. */
  readonly secrets: SecretScanner;
  /** Undefined if the session keeps secrets. */
  readonly redaction: SessionRedaction | undefined;
  /** Which results may be cleared. */
  readonly clearable: ClearableResults;
}

/** Used if no flag, session or setting names a model. */
export const modelDefault = "claude-sonnet-5-5";
