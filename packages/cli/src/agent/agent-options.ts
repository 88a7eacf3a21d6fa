import type { Jobs } from "palimpsest/internal/ports/jobs";
import type { UserPort } from "palimpsest/internal/ports/user-port";
import type { PlanReview } from "palimpsest/internal/ports/plan-mode";
import type { SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { ConnectServer } from "palimpsest/internal/ports/tool-server";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { FlagInput } from "../settings/flag-values.ts";
import type { PermissionMode } from "../tool/permission/decide-permission.ts";
import type { Net } from "../tool/web/get-page.ts";
import type { ModelChoice } from "./model/model-choice.ts";
import type { ToolOptions } from "./tools/tool-choice.ts";
import type { Workspace, ProjectStore } from "../host/workspace.ts";
import type { Session } from "palimpsest/internal/session/session";

export interface AgentOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  readonly flags: readonly FlagInput[];
  readonly session: SessionChoice;
  readonly model: ModelChoice;
  readonly tools: ToolOptions;
  /** Who is asked where a call needs leave, and by the tool `ask_user`. Absent: nobody; there is no such tool, and what would be asked is denied. */
  readonly person?: UserPort | undefined;
  /** How `web_fetch` reaches the net. Absent: there is no such tool. */
  readonly net?: Net | undefined;
  /** Who looks at a plan. Absent: nobody, and the agent has no tool to put one before. */
  readonly planReview?: PlanReview | undefined;
  /**
   * `on`: commands may run in the background until the session is closed. Absent: off, and there are no tools for it. Or
   * those that the agent before handed over, where the same session is opened again.
   */
  readonly jobs?: "on" | "off" | Jobs;
  /**
   * `on`: the provider is asked for the model's sizes, beside the first turn and once a week. Absent: off, and only what
   * it said before counts.
   */
  readonly askSizes?: "on" | "off";
  /**
   * `on`: the provider is asked to count system prompt and tools, beside the first turn and once for each set of them.
   * Absent: off, and only what it counted before counts.
   */
  readonly countFixedPart?: "on" | "off";
  /** What holds commands and servers of the project, found on this machine. Absent: they run as this process does, whatever the settings say. */
  readonly sandbox?: SandboxSearchOutcome | undefined;
  /** How servers of tools are reached. Absent: none is started, whatever the settings define. */
  readonly connectServer?: ConnectServer | undefined;
  /** `one`: it is closed when its first turn is over, so nothing is begun then that would only be stopped. Absent: many. */
  readonly turns?: "one" | "many";
  /** Told to hooks in place of how the session was chosen: a person left another one for it. */
  readonly startedBy?: "clear";
  /** In force where a person came from, in place of what `tools` wish for: as wide as this session gets by itself, and no word of theirs to widen it. */
  readonly carriedMode?: PermissionMode | undefined;
  /** Cuts short the hooks that are told of the beginning: nobody waits for it any more. */
  readonly signal?: AbortSignal | undefined;
}

export type SessionChoice =
  | { readonly kind: "new" }
  | { readonly kind: "resume"; readonly id: SessionId }
  /** A session of its own that begins with everything the named one holds. */
  | { readonly kind: "fork"; readonly id: SessionId };

/** What an agent is put together from. */
export interface AgentParts {
  readonly engine: Workspace;
  readonly options: AgentOptions;
  readonly deps: ProjectStore;
  /** Of the project. */
  readonly root: string;
  readonly session: Session;
}

/** Used where neither flag, session nor setting names one. */
export const modelDefault = "claude-sonnet-5-5";
