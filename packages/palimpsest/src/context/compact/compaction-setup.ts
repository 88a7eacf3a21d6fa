import type { CompactionRequests } from "../../ports/compaction-requests.ts";
import type { Fork } from "../../ports/fork.ts";
import type { WorkingStateDep } from "../../ports/working-state.ts";
import type { SessionNotes } from "./session-notes.ts";
import type { Session } from "../../session/session.ts";
import type { SessionFactBook } from "./session-fact-book.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { Proposal } from "./proposal.ts";

/** What compacting a conversation takes besides the agent's dependencies. A fork's conversation has none of it: it never compacts. */
export interface CompactionSetup extends WorkingStateDep {
  readonly session: Session;
  readonly facts: Pick<SessionFactBook, "facts" | "unreadable">;
  /** Of this conversation; absent where its own model can't be asked. */
  readonly fork?: Fork | undefined;
  /** Who writes summaries apart from the conversation; absent: its own model. `none`: nobody can be asked. */
  readonly summaryModel?: SummaryModel | "none" | undefined;
  /** Of this conversation; absent where none are taken. */
  readonly notes?: Pick<SessionNotes, "path" | "roundEnded" | "settle" | "read" | "template"> | undefined;
  /** Of this conversation; absent where every summary is waited for. */
  readonly preparation?: BackgroundSummary | undefined;
  /** Where the agent itself asks; absent where it can't. */
  readonly asks?: CompactionRequests | undefined;
  /** By which the model gets back what is not shown. */
  readonly recallTool: string | undefined;
  /** Names of tools whose definitions the model was given by messages, at this moment. Absent: there are no such tools. */
  readonly discovered?: (() => readonly string[]) | undefined;
  /** Read when a summary is asked for, so that a change of the files counts at once. Must not reject. */
  readonly summaryOptions: () => Promise<SummaryOptions>;
  /** `autonomous`: nobody watches; the work is a loop that goes on by itself. */
  readonly mode: "attended" | "autonomous";
  /** After a boundary: what belongs to its beginning, and is told to hooks. Must not reject. */
  readonly onCompacted: () => Promise<void>;
}

interface SummaryModel {
  readonly name: string;
  readonly windowTokens: number;
  readonly outputTokensMax: number;
}

/** What people ask of summaries besides. */
export interface SummaryOptions {
  /** A prompt of their own in place of ours. */
  readonly template?: string | undefined;
  /** From instruction files, under a heading for compaction. */
  readonly projectInstructions?: string | undefined;
  /** What could not be read of it, a line each, for a person. */
  readonly warnings?: readonly string[] | undefined;
}

/** A summary of a conversation that is made beside it, before it is due. */
export interface BackgroundSummary {
  readonly state: PreparedSummary["kind"];
  /** Whether the next round's end is to begin one. */
  want(wanted: "yes" | "no"): void;
  /** A reply came, its calls are answered. Returns at once: nothing of what follows is waited for. */
  roundEnded(): void;
  /** For a compaction that is due. */
  take(): PreparedSummary;
  /** It is not wanted any more. Must not reject; when it has ended, what it cost is in the log. */
  cancel(): Promise<void>;
  /** What happened since somebody listened; told once. */
  news(): readonly LoopEvent[];
}

/** What there is for a compaction that is due. */
export type PreparedSummary =
  /** Whoever takes it commits it, or books what it cost. */
  { readonly kind: "ready"; readonly proposal: Proposal } | { readonly kind: "preparing" } | { readonly kind: "none" };
