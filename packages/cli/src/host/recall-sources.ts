import { homedir } from "node:os";
import { join } from "node:path";
import type { RecallSource } from "palimpsest/internal/ports/recall-index";
import { foreignSource, type ForeignLogFile } from "palimpsest/internal/session/foreign-source";
import type { HashDep } from "palimpsest/internal/session/session-origin";
import { openFileSource } from "palimpsest/internal/store/files/file-source";
import {
  foreignFolders,
  idInName,
  listForeignFiles,
  readHead,
  type ForeignFolder,
} from "palimpsest/internal/store/files/foreign-logs";
import {
  opencodeFolder,
  type OpencodeSession,
  openOpencodeSessions,
} from "palimpsest/internal/store/files/opencode-sessions";
import { memorySource, notesSource } from "palimpsest/internal/store/files/text-source";
import { memoryByteSource } from "palimpsest/internal/store/memory/memory-blobs";
import { headBytes } from "palimpsest/internal/import/limits";

export interface ProjectSourcesInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sha256: HashDep;
  /** The project's root. */
  readonly root: string;
  /** Below our home: the project's sessions and everything kept with them. */
  readonly folder: string;
  /** Whether a folder belongs to the project. */
  readonly isOurs: (directory: string) => Promise<boolean>;
}

/** What is searched beside our own sessions: notes, memories, and other agents' sessions of the same project. */
export function projectSources(input: ProjectSourcesInput): readonly RecallSource[] {
  const home = input.env["HOME"] || homedir();
  const folders = foreignFolders({ home, env: input.env, root: input.root });
  return [
    notesSource(input.folder),
    memorySource(join(input.folder, "memory")),
    ...Map.groupBy(folders, ({ name }) => name)
      .entries()
      .map(([name, ofAgent]) => logFilesSource(name, { ...input, folders: ofAgent })),
    opencodeSource({ ...input, home }),
  ];
}

function logFilesSource(
  name: ForeignFolder["name"],
  { folders, sha256, isOurs }: Pick<ProjectSourcesInput, "sha256" | "isOurs"> & { folders: readonly ForeignFolder[] },
): RecallSource {
  return foreignSource(name, {
    sha256,
    isOurs,
    list: async () => {
      const files: ForeignLogFile[] = [];
      for (const folder of folders)
        for (const { path, size, mtimeMs, inode } of await listForeignFiles(folder))
          files.push({
            key: path,
            session: idInName(path),
            title: undefined,
            version: `${size} ${mtimeMs} ${inode}`,
            size,
            modified: new Date(mtimeMs).toISOString(),
          });
      return files;
    },
    head: (path) => readHead(path, headBytes),
    open: async (path) => {
      const opened = await openFileSource(path);
      return opened.kind === "open" ? opened.source : undefined;
    },
  });
}

function opencodeSource({
  home,
  env,
  sha256,
  isOurs,
}: Pick<ProjectSourcesInput, "env" | "sha256" | "isOurs"> & { readonly home: string }): RecallSource {
  const opencode = openOpencodeSessions(opencodeFolder(home, env));
  let sessionById: ReadonlyMap<string, OpencodeSession> | undefined;
  const list = async () => {
    const sessions = await opencode.list();
    sessionById = sessions && new Map(sessions.map((session) => [session.id, session]));
    return sessions;
  };
  return foreignSource("opencode", {
    sha256,
    isOurs,
    list: async () =>
      (await list())?.map(({ id, title, directory, updated }) => ({
        key: id,
        session: id,
        title,
        version: `${updated}`,
        // Unknown before it is read.
        size: 0,
        modified: new Date(updated).toISOString(),
        directory,
      })),
    head: async () => undefined,
    open: async (key) => {
      if (sessionById === undefined) await list();
      const text = await sessionById?.get(key)?.exportText();
      return text === undefined ? undefined : memoryByteSource(new TextEncoder().encode(text));
    },
    release: () => opencode.release(),
  });
}
