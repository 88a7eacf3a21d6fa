import type { SessionId } from "../schema/brand.ts";
import type { NotesFile } from "./notes-file.ts";
import type { RunningGroups } from "./running-groups.ts";

/** What an agent keeps as files beside its sessions. Each is optional: where it is absent, the agent does without. */
export interface SessionFiles {
  readonly notesFileFor?: (session: SessionId) => NotesFile;
  /** The plan that was last put before the user. */
  readonly planFileFor?: (session: SessionId) => NotesFile;
  readonly runningGroupsFor?: (session: SessionId) => RunningGroups;
  readonly readablePlacesFor?: (session: SessionId) => ReadablePlaces;
}

/** Files and folders of a session that previews, notes and plans name for the model to read. They need not exist yet. */
export interface ReadablePlaces {
  /** Where the project's sessions lie. */
  readonly folder: string;
  /** Relative to the folder. One that a link leads out of it is not the session's. */
  readonly paths: readonly string[];
}
