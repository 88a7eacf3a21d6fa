import type { Bytes, SessionId } from "../schema/brand.ts";

/** The sessions of one project. */
export interface SessionList {
  /** Newest first. Reads a bounded part of each transcript, whatever its length, unless `all` are to be counted; absent: `near`. */
  list(counting?: ListCounting): Promise<readonly SessionSummary[]>;
}

/** Whether the messages of long sessions are counted too. `near`: only what lies near the ends of a transcript, or near an earlier count, is read. */
export type ListCounting = "near" | "all";

/** The names are those of the ecosystem's index file. */
export interface SessionSummary {
  readonly sessionId: SessionId;
  readonly firstPrompt: string;
  readonly summary: string | undefined;
  /** Unknown until the whole transcript has been read once. */
  readonly messageCount: number | undefined;
  readonly created: string | undefined;
  readonly modified: string;
  readonly gitBranch: string | undefined;
  readonly projectPath: string | undefined;
  readonly isSidechain: boolean;
  readonly sizeBytes: Bytes;
}

export interface SessionListDep {
  readonly sessions: SessionList;
}
