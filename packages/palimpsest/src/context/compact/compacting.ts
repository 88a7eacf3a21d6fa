import type { CompactionAsks } from "../../ports/compaction-asks.ts";
import type { Fork } from "../../ports/fork.ts";
import type { WorkingStateDep } from "../../ports/working-state.ts";
import type { SessionNotes } from "../notes/session-notes.ts";
import type { Session } from "../../session/session.ts";
import type { SummaryAhead } from "./ahead.ts";
import type { SessionFactBook } from "./session-facts.ts";

/** What compacting a conversation takes besides the agent's dependencies. A fork's conversation has none of it: it never compacts. */
export interface Compacting extends WorkingStateDep {
  readonly session: Session;
  readonly facts: Pick<SessionFactBook, "facts" | "unreadable">;
  /** Of this conversation; absent where its own model can't be asked. */
  readonly fork?: Fork | undefined;
  /** Who writes summaries apart from the conversation; absent: its own model. `none`: nobody can be asked. */
  readonly summaryModel?: SummaryModel | "none" | undefined;
  /** Of this conversation; absent where none are taken. */
  readonly notes?: Pick<SessionNotes, "path" | "roundEnded" | "settle" | "read" | "template"> | undefined;
  /** Of this conversation; absent where every summary is waited for. */
  readonly preparation?: SummaryAhead | undefined;
  /** Where the agent itself asks; absent where it can't. */
  readonly asks?: CompactionAsks | undefined;
  /** By which the model gets back what is not shown. */
  readonly recallTool: string | undefined;
  /** Names of tools whose definitions the model was given by messages, at this moment. Absent: there are no such tools. */
  readonly discovered?: (() => readonly string[]) | undefined;
  /** Read when a summary is asked for, so that a change of the files counts at once. Must not reject. */
  readonly wishes: () => Promise<SummaryWishes>;
  /** `autonomous`: nobody watches; the work is a loop that goes on by itself. */
  readonly mode: "attended" | "autonomous";
  /** After a boundary: what belongs to its beginning, and is told to hooks. Must not reject. */
  readonly onCompacted: () => Promise<void>;
}

export interface SummaryModel {
  readonly name: string;
  readonly windowTokens: number;
  readonly outputTokensMax: number;
}

/** What people ask of summaries besides. */
export interface SummaryWishes {
  /** A prompt of their own in place of ours. */
  readonly template?: string | undefined;
  /** From instruction files, under a heading for compaction. */
  readonly projectInstructions?: string | undefined;
  /** What could not be read of it, a line each, for a person. */
  readonly warnings?: readonly string[] | undefined;
}
