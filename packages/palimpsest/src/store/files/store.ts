import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import type { Blobs } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { Memories } from "../../ports/memories.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import type { AgentStore, MessageCountMode, SessionList, Store, StorePorts } from "../../ports/store.ts";
import type { SessionFiles } from "../../ports/session-files.ts";
import type { Durability, Transcripts } from "../../ports/transcripts.ts";
import { millis } from "../../schema/brand.ts";
import { forgottenInIndex } from "../recall/forget-in-index.ts";
import { fileBlobs, resultsFolder } from "./file-blobs.ts";
import { fileDreamLeases } from "./file-dream-lease.ts";
import { fileDeletion } from "./file-deletion.ts";
import { fileGarbage } from "./file-garbage.ts";
import { homeFolder, locateProject } from "./project.ts";
import { fileLeases } from "./file-leases.ts";
import { listAgents, listSessions, type IndexRow } from "./list-sessions.ts";
import { fileNotes, filePlan, notesPath, planPath } from "./file-notes.ts";
import { fileRecall } from "./file-recall.ts";
import { fileRunningGroups } from "./file-running-groups.ts";
import { fileMailboxes } from "./file-mailboxes.ts";
import { fileMemories } from "./file-memories.ts";
import { fileSpendLog } from "./file-spend-log.ts";
import { fileTaskLists } from "./file-task-lists.ts";
import { fileTranscripts } from "./file-transcripts.ts";

export interface FileStoreOptions {
  /** The folder of the sessions. By default the one that the command `palimpsest` uses for the current folder's project. */
  readonly folder?: string;
  /** When bytes are synced to disk: before a call that adds something resolves (the default), at the end of a turn, or whenever the system does it. */
  readonly durability?: Durability;
  /** Refuses memories with secrets; by default the engine's own rules. */
  readonly secretScanner?: SecretScanner;
}

/** Stores each session as a readable file of JSON lines. */
export function fileStore({ folder, durability = "always", secretScanner }: FileStoreOptions = {}): Store {
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  return {
    open: async () => {
      const home = homeFolder(process.env);
      const located =
        folder === undefined
          ? await locateProject(deps, { home, cwd: process.cwd() })
          : ({ kind: "located", folder: resolve(folder) } as const);
      if (located.kind === "failed") return located;
      const mailFolder = folder === undefined ? homeMailFolder(home) : undefined;
      const options = { deps, folder: located.folder, durability, scanner: secretScanner, mailFolder };
      return { kind: "open", ...filePorts(options) };
    },
  };
}

export interface FilePortsOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly durability: Durability;
  /** What refuses memories with secrets; by default the engine's own rules. */
  readonly scanner?: SecretScanner | undefined;
  /** Where agents get their messages: `<home>/mail` for all projects of a home; by default `.mail` in the folder, for it alone. */
  readonly mailFolder?: string | undefined;
}

export const homeMailFolder = (home: string): string => join(home, "mail");

export interface FilePorts extends Required<StorePorts>, Required<SessionFiles> {
  readonly transcripts: Required<Transcripts>;
  readonly blobs: Required<Blobs>;
  readonly sessions: FileSessionList;
  readonly memories: Required<Memories>;
}

/** Lists rows as they are stored in `sessions-index.json`. */
export interface FileSessionList extends SessionList {
  list(counting?: MessageCountMode): Promise<readonly IndexRow[]>;
}

/** Everything that is stored for one project. Only this package knows the layout of its folder. */
export function filePorts({ deps, folder, durability, scanner, mailFolder }: FilePortsOptions): FilePorts {
  const mail = { deps, folder: mailFolder ?? join(folder, ".mail"), durability };
  const leases = fileLeases({ deps, folder });
  const recall = fileRecall({ deps, folder });
  const memories = fileMemories({ deps, folder: join(folder, "memory"), scanner });
  return {
    transcripts: fileTranscripts({ deps, folder, durability }),
    blobs: fileBlobs({ folder, durability }),
    sessions: { list: (counting = "near") => listSessions(deps, { folder, counting }) },
    memories: { ...memories, purge: forgottenInIndex(recall, memories.purge) },
    dreams: fileDreamLeases({ deps, folder: join(folder, "memory") }),
    leases,
    deletion: fileDeletion({ deps, folder, leases }),
    garbage: fileGarbage({ deps, folder }),
    recall,
    spend: fileSpendLog({ folder }),
    mailboxes: fileMailboxes(mail),
    taskLists: fileTaskLists(mail),
    agentsOf: (session) => fileAgentStore({ deps, folder, durability }, join(folder, session, agentsFolderName)),
    ...fileSessionFiles(folder),
  };
}

/** As the ecosystem names it. */
const agentsFolderName = "subagents";

/** `folder` is the project's, `agentsFolder` that of one session's agents. */
function fileAgentStore(
  project: Pick<FilePortsOptions, "deps" | "folder" | "durability">,
  agentsFolder: string,
): AgentStore {
  const { deps, folder, durability } = project;
  return {
    transcripts: fileTranscripts({ deps, folder: agentsFolder, durability }),
    blobs: fileBlobs({ folder, linksFolder: agentsFolder, durability }),
    list: () => listAgents(agentsFolder),
    agentsOf: (agent) => fileAgentStore(project, join(agentsFolder, agent, agentsFolderName)),
    ...fileSessionFiles(agentsFolder),
  };
}

const fileSessionFiles = (folder: string): Required<SessionFiles> => ({
  notesFileFor: (session) => fileNotes({ folder, session }),
  planFileFor: (session) => filePlan({ folder, session }),
  runningGroupsFor: (session) => fileRunningGroups({ folder, session }),
  readablePlacesFor: (session) => ({
    folder,
    paths: [resultsFolder("", session), notesPath({ folder: "", session }), planPath({ folder: "", session })],
  }),
});
