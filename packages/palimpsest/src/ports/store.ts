import type { Blobs, WriteFailure } from "./blobs.ts";
import type { DreamLeases } from "./dream-lease.ts";
import type { Mailboxes } from "./mailbox.ts";
import type { Memories } from "./memories.ts";
import type { GarbageStore } from "./garbage-store.ts";
import type { SessionDeletion } from "./session-deletion.ts";
import type { RecallIndexes } from "./recall-index.ts";
import type { SessionFiles } from "./session-files.ts";
import type { SpendLog } from "./spend-log.ts";
import type { TaskLists } from "./task-list.ts";
import type { Transcripts } from "./transcripts.ts";
import type { AgentId, Bytes, SessionId } from "../schema/brand.ts";

/** Storage of sessions. Nothing in it requires file paths. */
export interface Store {
  /** Must not reject. */
  open(): Promise<StoreOpenOutcome>;
}

export type StoreOpenOutcome = ({ readonly kind: "open" } & StorePorts) | WriteFailure;

/** A conversation needs only the first two; features that need the others check whether the store offers them. */
export interface StorePorts {
  readonly transcripts: Transcripts;
  readonly blobs: Blobs;
  readonly sessions?: SessionList;
  readonly leases?: Leases;
  /** The memories of the project. */
  readonly memories?: Memories;
  /** Who consolidates the memories of the project, and when. */
  readonly dreams?: DreamLeases;
  readonly deletion?: SessionDeletion;
  readonly garbage?: GarbageStore;
  /** An index over all sessions. Without it one session at a time is searched, in an index in memory. */
  readonly recall?: RecallIndexes;
  /** What the project's sessions have paid. Its absence means that each session counts only its own costs. */
  readonly spend?: SpendLog;
  /** Messages between agents. With files they reach every session of the same home, also of other projects. */
  readonly mailboxes?: Mailboxes;
  /** The shared tasks of teams. */
  readonly taskLists?: TaskLists;
  /** Where the agents of a session are stored. Its absence means that a session can have none. */
  readonly agentsOf?: (session: SessionId) => AgentStore;
}

/**
 * What is stored for the agents of one session. An agent's id is the name of its transcript, and it may have agents of its
 * own. Blobs are the project's: what several agents have read is stored once. All of it is deleted with the session.
 */
export interface AgentStore extends SessionFiles, Required<Pick<StorePorts, "transcripts" | "blobs" | "agentsOf">> {
  /** Those that have a transcript, sorted. Must not reject. */
  list(): Promise<readonly AgentId[]>;
}

/** The sessions of one project. */
export interface SessionList {
  /** Newest first. Reads a bounded part of each transcript, whatever its length, unless the mode is `all`; absent: `near`. */
  list(countMode?: MessageCountMode): Promise<readonly SessionSummary[]>;
}

/**
 * Whether the messages of long sessions are counted too. `near`: reads only the bytes near the ends of a transcript or
 * near an earlier count.
 */
export type MessageCountMode = "near" | "all";

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

/** Each name has one holder at a time, across processes. The lease of a session is named by the session's id. */
export interface Leases {
  /** Takes over the lease of a dead process. Must not reject. */
  acquire(name: string): Promise<LeaseOutcome>;
  /** The current holder. Changes nothing. */
  look(name: string): Promise<LeaseState>;
}

export interface Lease {
  /** Cheap enough for every append. `lost`: another process may hold it by now. */
  state(): Promise<"held" | "lost">;
  /** Frees the name, unless the lease was lost. A second release does nothing. */
  release(): Promise<void>;
}

export type LeaseOutcome =
  | { readonly kind: "acquired"; readonly lease: Lease }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

export type LeaseState =
  | { readonly kind: "free" }
  /** `holder`: a few words for the user. */
  | { readonly kind: "held"; readonly holder: string }
  /** Left by a process that is gone. */
  | { readonly kind: "left" };

export interface LeasesDep {
  readonly leases: Leases;
}
