import { lstat, readdir } from "node:fs/promises";
import { join, basename, dirname } from "node:path";
import { sessionId, type SessionId } from "../../schema/brand.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { MessageCountMode } from "../../ports/store.ts";
import { listedTogetherMax } from "../limits.ts";
import { isSessionName } from "../is-session-name.ts";
import { byNewest, summariseSession } from "../summarise-session.ts";
import { openOwnFileSource, openFileSource } from "./file-source.ts";
import { isAbsent, errorCode } from "./write-failure.ts";
import { type IndexRow, readIndex, removeUnfinishedIndexes, writeIndex } from "./sessions-index.ts";
import { readProjects } from "./project-record.ts";
import type { ByteSource } from "../../ports/transcripts.ts";

const extension = ".jsonl";

/** Takes the rows of unchanged transcripts from the index, reads the other transcripts, and updates the index. */
export async function listSessions(
  deps: ClockDep,
  { folder, counting }: { readonly folder: string; readonly counting: MessageCountMode },
): Promise<readonly IndexRow[]> {
  const ids = await sessionIds(folder);
  const index = await readIndex(folder);
  const rows = await inBatches(ids, (id) =>
    readRow({ folder, id, counting, earlier: index.rowByPath.get(join(folder, id + extension)) }),
  );
  const sessions = rows.filter((row) => row !== undefined).toSorted(byNewest);
  const changed =
    sessions.length !== index.rowByPath.size || sessions.some((row) => index.rowByPath.get(row.fullPath) !== row);
  if (changed) await writeIndex({ folder, rows: sessions, originalPath: index.originalPath });
  await removeUnfinishedIndexes(deps, folder);
  return sessions;
}

/** Leaves out links: the target may be another tool's file, which we must not write. */
export async function sessionIds(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries.filter((entry) => !entry.isSymbolicLink()).map((entry) => entry.name);
    const ids = names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length));
    return ids.filter((id) => isSessionName(sessionId(id)));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** Undefined if the transcript can't be read: one bad file must not hide the others. */
async function readRow({
  folder,
  id,
  earlier,
  counting,
}: {
  readonly folder: string;
  readonly id: string;
  readonly earlier: IndexRow | undefined;
  readonly counting: MessageCountMode;
}): Promise<IndexRow | undefined> {
  const fullPath = join(folder, id + extension);
  const isEnough = counting === "near" || earlier?.messageCount !== undefined;
  if (earlier !== undefined && isEnough && (await isFresh(earlier))) return earlier;
  const opened = await openOwnFileSource(fullPath);
  if (opened.kind !== "open") return undefined;
  const { source } = opened;
  try {
    const { mtimeMs, birthtimeMs } = source;
    const input = { source, sessionId: sessionId(id), mtimeMs, birthtimeMs, earlier, counting };
    const { sessionId: summarisedId, ...summary } = await summariseSession(input);
    return { sessionId: summarisedId, fullPath, fileMtime: mtimeMs, ...summary };
  } finally {
    await source.close();
  }
}

async function isFresh({ fullPath, fileMtime, sizeBytes }: IndexRow): Promise<boolean> {
  const stats = await lstat(fullPath).catch(() => undefined);
  return stats !== undefined && stats.isFile() && stats.mtimeMs === fileMtime && stats.size === sizeBytes;
}

async function inBatches<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += listedTogetherMax) {
    results.push(...(await Promise.all(items.slice(start, start + listedTogetherMax).map(act))));
  }
  return results;
}

/** A project folder under `home`; `root` is undefined if the record is missing or damaged. */
interface AnyProject {
  readonly folder: string;
  readonly slug: string;
  readonly root: string | undefined;
}

export async function listProjects(home: string): Promise<readonly AnyProject[]> {
  return (await readProjects(home)).map(({ folder, slug, record }) => ({ folder, slug, root: record?.path }));
}

export interface FoundSession {
  readonly id: SessionId;
  readonly project: AnyProject;
}

type FindSessionOutcome =
  | ({ readonly kind: "found" } & FoundSession)
  | { readonly kind: "missing" }
  | { readonly kind: "ambiguous"; readonly candidates: readonly FoundSession[] };

/** Searches all projects for the full id, or else for a prefix that only one session has. */
export async function findSession(home: string, idOrPrefix: string): Promise<FindSessionOutcome> {
  if (idOrPrefix === "") return { kind: "missing" };
  const candidates: FoundSession[] = [];
  for (const project of await listProjects(home)) {
    const ids = (await sessionIds(project.folder)).filter((id) => id.startsWith(idOrPrefix));
    candidates.push(...ids.map((id) => ({ id: sessionId(id), project })));
  }
  const exact = candidates.filter(({ id }) => id === idOrPrefix);
  const matches = exact.length > 0 ? exact : candidates;
  const [only] = matches;
  if (only === undefined) return { kind: "missing" };
  return matches.length === 1 ? { kind: "found", ...only } : { kind: "ambiguous", candidates: matches };
}

export interface AgentLog {
  /** The agent's id. */
  readonly name: string;
  readonly source: ByteSource;
}

const agentLogName = /^agent-(.+)\.jsonl$/;

/** Opens each `<session>/subagents/agent-<id>.jsonl` next to `<session>.jsonl` for reading. A file that can't be read is left out. */
export async function openAgentLogs(transcript: string): Promise<readonly AgentLog[]> {
  const folder = join(dirname(transcript), basename(transcript, ".jsonl"), "subagents");
  const names: readonly string[] = await readdir(folder).catch((error: unknown): string[] => {
    if (errorCode(error) === undefined) throw error;
    return [];
  });
  const logs: AgentLog[] = [];
  for (const file of names.toSorted()) {
    const name = agentLogName.exec(file)?.[1];
    const opened = name === undefined ? undefined : await openFileSource(join(folder, file));
    if (name !== undefined && opened?.kind === "open") logs.push({ name, source: opened.source });
  }
  return logs;
}
