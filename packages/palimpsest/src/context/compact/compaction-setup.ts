import type { CompactionRequests } from "../../ports/compaction-requests.ts";
import type { Fork } from "../../ports/fork.ts";
import type { RestoreRequest, WorkingStateDep } from "../../ports/working-state.ts";
import type { SessionNotes } from "./session-notes.ts";
import type { Session } from "../../session/session.ts";
import type { SessionFactBook } from "./session-fact-book.ts";
import type { ReloadedInstructions } from "../../schema/edit.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import type { Proposal } from "./proposal.ts";

/** What compaction needs besides the agent's dependencies. A fork has no setup: it never compacts. */
export interface CompactionSetup extends WorkingStateDep {
  readonly session: Session;
  readonly facts: Pick<SessionFactBook, "facts" | "unreadable">;
  /** A fork of this conversation; absent if its own model can't be called. */
  readonly fork?: Fork | undefined;
  /**
   * The caller's own model for summaries; by default the one of the settings. `none`: no model can be called.
   */
  readonly summaryModel?: SummaryModel | "none" | undefined;
  /** The notes of this conversation; absent if none are taken. */
  readonly notes?: Pick<SessionNotes, "path" | "roundEnded" | "settle" | "read" | "template"> | undefined;
  /** Prepares summaries in the background; absent if each summary is made when it is due. */
  readonly preparation?: BackgroundSummary | undefined;
  /** Work beside the conversation that begins when a reply has come: memories, dreams. Absent: there is none. */
  readonly background?: readonly RoundListener[] | undefined;
  /** The agent's own requests for compaction; absent if it can't make any. */
  readonly requests?: CompactionRequests | undefined;
  /** The tool by which the model reads what is not in the view. */
  readonly recallTool: string | undefined;
  /** Names of the tools whose definitions the model currently has through messages. Absent if there are no such tools. */
  readonly discovered?: (() => readonly string[]) | undefined;
  /** Called for each summary, so that changes to the files apply at once. Must not reject. */
  readonly summaryOptions: () => Promise<SummaryOptions>;
  /** `autonomous`: no user watches; the agent works in a loop by itself. */
  readonly mode: "attended" | "autonomous";
  /**
   * Reads the instructions that requests begin with again, for a boundary that is being drafted. Absent: there are none.
   * Must not reject.
   */
  readonly reload?: ((request: Pick<RestoreRequest, "isKept">) => Promise<Reload | undefined>) | undefined;
  /** Called after a boundary, to repeat what belongs to the beginning of a session. Must not reject. */
  readonly onCompacted: () => Promise<void>;
}

export interface RoundListener {
  /** Called when a reply has come and its calls have their results. Returns at once. */
  roundEnded(calls: number): void;
}

/** What requests begin with behind a boundary. */
export interface Reload {
  readonly reloaded: ReloadedInstructions;
  /** The change in size of what requests begin with. */
  readonly addedTokens: number;
  /** Called once the boundary is written: requests begin with it from now on. Must not reject. */
  apply(): Promise<void>;
}

type SummaryModel = Pick<ResolvedSettings["summaryModel"] & object, "name" | "windowTokens" | "outputTokensMax">;

/** The user's options for summaries. */
export interface SummaryOptions {
  /** The user's prompt in place of ours. */
  readonly template?: string | undefined;
  /** From instruction files, under a heading for compaction. */
  readonly projectInstructions?: string | undefined;
  /** What could not be read, one line each, for the user. */
  readonly warnings?: readonly string[] | undefined;
}

/** A summary that is made in the background, before it is due. */
export interface BackgroundSummary {
  readonly state: PreparedSummary["kind"];
  /** Should the end of the next round start one? */
  want(wanted: "yes" | "no"): void;
  /** Called when a reply has come and its calls have their results. Returns at once; the work runs in the background. */
  roundEnded(): void;
  /** Takes the summary for a compaction that is due. */
  take(): PreparedSummary;
  /** Drops the summary. Must not reject; when it resolves, the cost is in the log. */
  cancel(): Promise<void>;
  /** Events since the last call; each is returned once. */
  news(): readonly LoopEvent[];
}

/** What is available for a compaction that is due. */
export type PreparedSummary =
  /** The caller must commit the proposal, or book its cost. */
  { readonly kind: "ready"; readonly proposal: Proposal } | { readonly kind: "preparing" } | { readonly kind: "none" };
