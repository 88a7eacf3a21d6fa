import type { SessionId, ToolUseId } from "../schema/brand.ts";

/** Files that an agent keeps next to its sessions. Each is optional: if it is absent, the agent does without. */
export interface SessionFiles {
  readonly notesFileFor?: (session: SessionId) => NotesFile;
  /** The plan that was last shown to the user. */
  readonly planFileFor?: (session: SessionId) => NotesFile;
  readonly runningGroupsFor?: (session: SessionId) => RunningGroups;
  readonly readablePlacesFor?: (session: SessionId) => ReadablePlaces;
}

/** Files and folders of a session that previews, notes and plans name for the model to read. They need not exist yet. */
interface ReadablePlaces {
  /** The folder of the project's sessions. */
  readonly folder: string;
  /** Relative to the folder. A path that a link leads out of the folder does not belong to the session. */
  readonly paths: readonly string[];
}

/** The notes file of one session. It lies where none of the user's rules lets an agent write. */
export interface NotesFile {
  /** Where the file is or will be. */
  readonly path: string;
  /** Returns the file as it is; creates it with this text if there is none. Must not reject. */
  open(text: string): Promise<NotesFileOutcome>;
  /** Replaces the file atomically. Must not reject. */
  write(text: string): Promise<NotesFileOutcome>;
}

export type NotesFileOutcome =
  | {
      readonly kind: "open";
      /** Real path: permissions are granted for it. */
      readonly path: string;
      readonly text: string;
      /** Of the file's bytes, computed as the tools that edit files do. */
      readonly hash: string;
      readonly modifiedMs: number;
    }
  /** `message`: one line for the user. */
  | { readonly kind: "failed"; readonly message: string };

export interface NotesFileDep {
  readonly notesFile: NotesFile;
}

/** Records of the process groups of running commands: a group that outlives the agent can be recognised later and ended. */
export interface RunningGroups {
  /** Returns a function that removes the record. Neither may reject. */
  record(group: RunningGroup): Promise<() => Promise<void>>;
  /**
   * Groups that an earlier run of the session left on record. Changes nothing. Only the holder of the session's lock
   * may end or forget one: otherwise it may be a command of another running agent.
   */
  left(): Promise<readonly LeftoverGroup[]>;
}

export interface RunningGroup {
  /** The process id of the group's leader, which is also the id of the group. */
  readonly leader: number;
  /** The call that the group runs for; undefined for background processes such as tool servers. */
  readonly toolUse: ToolUseId | undefined;
}

export interface LeftoverGroup extends RunningGroup {
  /**
   * `ours`: the leader runs and is the process that was recorded. `leaderless`: the leader has ended, but a group with
   * its id runs, most likely the recorded one. `gone`: neither, or it is unknown.
   */
  readonly state: "ours" | "leaderless" | "gone";
  readonly forget: () => Promise<void>;
}
