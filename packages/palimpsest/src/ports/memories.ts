import type { Bytes, EntryId, MemoryHash, MemoryRevisionId, Millis, SessionId } from "../schema/brand.ts";
import type { WriteFailure } from "./blobs.ts";

/**
 * One directory of memories with its history. Paths are relative, with forward slashes: `user-role.md`,
 * `logs/2026/11/17.md`. A text is in the directory as a whole or not at all; every write is a revision.
 */
export interface Memories {
  /**
   * Every file of the directory, by path, the index and the logs too. A file that was edited by hand is recorded first. Must
   * not reject, like `read`, `history` and `text`: of a directory that can't be read, what can be is returned, as untrusted.
   */
  list(): Promise<readonly Memory[]>;
  /** Undefined if there is no such file, or the path is not allowed. */
  read(path: string): Promise<MemoryText | undefined>;
  /**
   * Applies the whole change set or nothing, as one revision; the index is brought up to date in the same revision.
   * Waits for other writers, but not forever. Must not reject.
   */
  commit(changeSet: MemoryChangeSet): Promise<MemoryCommitOutcome>;
  /** Newest first; with a path only the revisions that changed it. */
  history(path?: string): Promise<readonly MemoryRevision[]>;
  /** A text of the directory or of its history. Undefined if it was never stored here or was purged. */
  text(hash: MemoryHash): Promise<string | undefined>;
  /** Removes files with all their revisions and texts, so that nothing of them is left on disk. Must not reject. */
  purge(paths: readonly string[]): Promise<MemoryPurgeOutcome>;
  /** Why the directory can't be used, in one line for the user. Undefined if it can. Absent in stores that always can. */
  problem?(): Promise<string | undefined>;
  /** A path or URL at which a user can open the file. Absent in stores that have none. */
  linkTo?(path: string): string | undefined;
}

/** A file of the directory as it is now. */
export interface Memory {
  readonly path: string;
  /** `index`: `MEMORY.md`. `log`: below `logs/`, which neither the index nor recall names. */
  readonly role: "memory" | "index" | "log";
  readonly hash: MemoryHash;
  readonly sizeBytes: Bytes;
  readonly modifiedMs: Millis;
  /** From the front matter; else from the file's name and its first line. */
  readonly name: string;
  readonly description: string;
  readonly type: MemoryType | undefined;
  /** The revision that wrote this text. */
  readonly revision: MemoryRevisionId;
  readonly author: MemoryAuthor;
  readonly provenance: MemoryProvenance;
  /** `untrusted` also if an earlier revision was and no user has written the file since: an edit by the agent proves nothing. */
  readonly trust: MemoryTrust;
}

export interface MemoryText extends Memory {
  readonly text: string;
}

/**
 * `user`: who the user is. `feedback`: how they want work done. `project`: what goes on that the code doesn't tell.
 * `reference`: where things are outside.
 */
export type MemoryType = "user" | "feedback" | "project" | "reference";

export type MemoryAuthor = "agent" | "extraction" | "dream" | "user";

/** `untrusted`: the text came from a tool result or the web. It is shown as quoted data and never as an instruction. */
export type MemoryTrust = "trusted" | "untrusted";

export interface MemoryProvenance {
  readonly session?: SessionId | undefined;
  readonly messages?: readonly EntryId[] | undefined;
  readonly at: Millis;
  readonly trust: MemoryTrust;
  /** The memories whose text went into this one. Forgetting one of them forgets this one too. */
  readonly derivedFrom?: readonly MemorySource[] | undefined;
  /** Which memory directory it was brought over from: `Claude Code`. */
  readonly importedFrom?: string | undefined;
  /** The program whose model wrote it over MCP, as it calls itself: `claude-code`. */
  readonly client?: string | undefined;
}

export interface MemorySource {
  readonly path: string;
  readonly revision: MemoryRevisionId;
}

export interface MemoryChangeSet {
  readonly author: MemoryAuthor;
  readonly provenance: MemoryProvenance;
  /** One line for the log: why. */
  readonly message: string;
  /** Each path at most once. */
  readonly changes: readonly MemoryChange[];
  /** What happens if a file no longer has the expected text. Absent: `refuse-all`. */
  readonly onConflict?: "refuse-all" | "leave-out" | undefined;
}

export interface MemoryChange {
  readonly path: string;
  /** The text that the author has seen. `any`: whatever is there. */
  readonly expected: MemoryHash | "absent" | "any";
  /** Undefined: the file is deleted. */
  readonly text: string | undefined;
  /** Where this change came from, if not from where the change set did. */
  readonly provenance?: MemoryProvenance | undefined;
}

export type MemoryCommitOutcome =
  /** `leftOut`: changes whose files were changed meanwhile, with `leave-out`. */
  | { readonly kind: "committed"; readonly revision: MemoryRevision; readonly leftOut: readonly string[] }
  /** Every file already has the text that was asked for; nothing was written. */
  | { readonly kind: "unchanged" }
  | { readonly kind: "conflict"; readonly paths: readonly string[] }
  | { readonly kind: "refused"; readonly secrets: readonly MemorySecret[] }
  /** A path or a text that the directory does not take. `message`: one line for the user or the model. */
  | { readonly kind: "invalid"; readonly path: string; readonly message: string }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

export interface MemorySecret {
  readonly path: string;
  /** What it looks like: `GitHub token`. Never the text itself. */
  readonly kind: string;
  /** Of the text that was to be written, from 1. 0: in the message or the path. */
  readonly line: number;
}

/** A committed change set. */
export interface MemoryRevision {
  readonly id: MemoryRevisionId;
  readonly at: Millis;
  readonly author: MemoryAuthor;
  readonly provenance: MemoryProvenance;
  readonly message: string;
  readonly changes: readonly MemoryRevisionChange[];
}

export interface MemoryRevisionChange {
  readonly path: string;
  /** Undefined: there was no such file. */
  readonly before: MemoryHash | undefined;
  /** Undefined: the file was deleted. */
  readonly after: MemoryHash | undefined;
  readonly provenance?: MemoryProvenance | undefined;
}

export type MemoryPurgeOutcome =
  | { readonly kind: "purged"; readonly paths: readonly string[]; readonly revisions: number }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

export interface MemoriesDep {
  readonly memories: Memories;
}
