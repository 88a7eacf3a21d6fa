import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { type SessionId, millis, sessionId } from "palimpsest/internal/schema/brand";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { judgeLock, readLock } from "palimpsest/internal/store/files/file-leases";
import { listProjects } from "palimpsest/internal/store/files/list-sessions";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { isSessionName } from "palimpsest/internal/store/is-session-name";

/** A session that a living process has open. */
export interface OpenSession {
  readonly id: SessionId;
  /** Its transcript. */
  readonly path: string;
  /** The project's folder, if its record can be read. */
  readonly root: string | undefined;
  readonly pid: number;
  /** Tells the process from a later one with the same pid; null if the system does not provide it. */
  readonly started: string | null;
  readonly host: string;
  readonly since: string;
}

/** The open sessions of every project of a home. Looks at locks only: a home may hold thousands of sessions. */
export async function findOpenSessions(home: string): Promise<readonly OpenSession[]> {
  const projects = await listProjects(home);
  return (await Promise.all(projects.map(findOpenInProject))).flat();
}

async function findOpenInProject(project: {
  readonly folder: string;
  readonly root?: string | undefined;
}): Promise<readonly OpenSession[]> {
  const names = await readdir(project.folder).catch((error: unknown): string[] => {
    if (errorCode(error) === undefined) throw error;
    return [];
  });
  const ids = names.filter((name) => name.endsWith(".lock")).map((name) => sessionId(basename(name, ".lock")));
  const sessions = await Promise.all(
    ids.filter(isSessionName).map(async (id): Promise<readonly OpenSession[]> => {
      const path = join(project.folder, `${id}.jsonl`);
      // A new session may have no log yet. Other work of the project has locks with other names.
      const isSession = names.includes(`${id}.jsonl`) || newSessionName.test(id);
      const lock = isSession ? await readLock(join(project.folder, `${id}.lock`)) : undefined;
      if (lock?.record === undefined || (await judgeLock(lockDeps, lock)).kind !== "held") return [];
      const { pid, processStarted: started, host, since } = lock.record;
      return [{ id, path, root: project.root, pid, started, host, since }];
    }),
  );
  return sessions.flat();
}

const newSessionName = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const lockDeps = { now: () => millis(Date.now()), host: hostname(), lookAtProcess };
