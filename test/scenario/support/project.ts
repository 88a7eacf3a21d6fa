import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session, type SessionDeps } from "../../../packages/palimpsest/src/session/session.ts";
import { millis, type SessionId, sessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { Durability } from "../../../packages/palimpsest/src/ports/transcripts.ts";
import { type FilePorts, filePorts } from "../../../packages/palimpsest/src/store/files/store.ts";

/** Real files with a real clock and real ids, in a project folder that may not exist yet. */
export function fileDeps(folder: string, durability: Durability = "never"): FileDeps {
  const base = { now: () => millis(Date.now()), uuid: () => randomUUID() };
  return { ...base, ...filePorts({ deps: base, folder, durability }) };
}

export type FileDeps = SessionDeps & FilePorts;

export interface Project {
  readonly home: string;
  readonly folder: string;
  readonly deps: FileDeps;
}

/** An empty home with one project; removed with everything else of the test run. */
export async function newProject(): Promise<Project> {
  const home = join(await realpath(await mkdtemp(join(tmpdir(), "scenario-"))), "home");
  const folder = join(home, "projects", "p");
  await mkdir(folder, { recursive: true });
  return { home, folder, deps: fileDeps(folder) };
}

export const pathOf = ({ folder }: Pick<Project, "folder">, id: string): string => join(folder, `${id}.jsonl`);

export async function openedSession(deps: SessionDeps, id: string, mode: "create" | "resume"): Promise<Session> {
  const circumstances = { cwd: "/project", version: "0.0.0" };
  const opened = await openSession(deps, { id: sessionId(id), circumstances, mode });
  if (opened.kind !== "open") throw new Error(`not open: ${JSON.stringify(opened)}`);
  return opened.session;
}

/** Makes a session, lets `fill` write it, closes it. */
export async function sessionWith(
  deps: SessionDeps,
  id: string,
  fill: (session: Session) => Promise<void>,
): Promise<SessionId> {
  const session = await openedSession(deps, id, "create");
  await fill(session);
  await session.close();
  return session.id;
}
