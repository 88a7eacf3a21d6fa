import type { SessionId, ToolUseId } from "../schema/brand.ts";

/** What an agent keeps as files beside its sessions. Each is optional: where it is absent, the agent does without. */
export interface SessionFiles {
  readonly notesFileFor?: (session: SessionId) => NotesFile;
  /** The plan that was last put before the user. */
  readonly planFileFor?: (session: SessionId) => NotesFile;
  readonly runningGroupsFor?: (session: SessionId) => RunningGroups;
  readonly readablePlacesFor?: (session: SessionId) => ReadablePlaces;
}

/** Files and folders of a session that previews, notes and plans name for the model to read. They need not exist yet. */
interface ReadablePlaces {
  /** Where the project's sessions lie. */
  readonly folder: string;
  /** Relative to the folder. One that a link leads out of it is not the session's. */
  readonly paths: readonly string[];
}

/** The notes file of one session. It lies where no rule of the person's lets an agent write. */
export interface NotesFile {
  /** Where it is or will be: for people, and for whoever reads the whole of it. */
  readonly path: string;
  /** As it stands; made with this text where there is none. Must not reject. */
  open(text: string): Promise<NotesFileOutcome>;
  /** Replaces it in one step. Must not reject. */
  write(text: string): Promise<NotesFileOutcome>;
}

export type NotesFileOutcome =
  | {
      readonly kind: "open";
      /** Real path: what a permission is given for. */
      readonly path: string;
      readonly text: string;
      /** Of its bytes, as tools that edit files reckon it. */
      readonly hash: string;
      readonly modifiedMs: number;
    }
  /** `message`: one line for a person. */
  | { readonly kind: "failed"; readonly message: string };

export interface NotesFileDep {
  readonly notesFile: NotesFile;
}

/** Process groups of commands, on record while they run: one that outlives the agent can be told from a stranger, and ended. */
export interface RunningGroups {
  /** Must not reject. Returns how to take the record back, which must not reject either. */
  record(group: RunningGroup): Promise<() => Promise<void>>;
  /** What an earlier run of the session left on record. Changes nothing. Only who holds the session's lock may end or forget any of it: others' commands may well run. */
  left(): Promise<readonly LeftoverGroup[]>;
}

export interface RunningGroup {
  /** The process id of the group's leader, which is the group's. */
  readonly leader: number;
  /** The call that it runs for; undefined for what runs beside the conversation, as servers of tools do. */
  readonly toolUse: ToolUseId | undefined;
}

export interface LeftoverGroup extends RunningGroup {
  /**
   * `ours`: the leader runs, and is the very process that was recorded. `leaderless`: it has ended, and a group of its
   * number runs, which is most likely the recorded one. `gone`: neither, or nobody can tell.
   */
  readonly state: "ours" | "leaderless" | "gone";
  readonly forget: () => Promise<void>;
}
