import { lstat, readdir, rm } from "node:fs/promises";
import { join, basename, dirname } from "node:path";
import { type AgentId, agentId, sessionId, type SessionId, bytes } from "../../schema/brand.ts";
import { mapInBatches } from "../../schema/map-in-batches.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { MessageCountMode, SessionSummary } from "../../ports/store.ts";
import { listedTogetherMax, indexBytesMax, indexWriteMsMax } from "../limits.ts";
import { isSessionName } from "../is-session-name.ts";
import { byNewest, summariseSession, isoTime } from "../summarise-session.ts";
import { openOwnFileSource, openFileSource } from "./file-source.ts";
import { readProjects } from "./project.ts";
import type { ByteSource } from "../../ports/transcripts.ts";
import { z } from "zod";
import { parseJson } from "../../schema/json.ts";
import { isAbsent, errorCode, isTemporaryFor, readSmallFile, replaceFile } from "./disk.ts";

const extension = ".jsonl";

/** Takes the rows of unchanged transcripts from the index, reads the other transcripts, and updates the index. */
export async function listSessions(
  deps: ClockDep,
  { folder, counting }: { readonly folder: string; readonly counting: MessageCountMode },
): Promise<readonly IndexRow[]> {
  const ids = await sessionIds(folder);
  const index = await readIndex(folder);
  const rows = await mapInBatches(ids, {
    size: listedTogetherMax,
    map: (id) => readRow({ folder, id, counting, earlier: index.rowByPath.get(join(folder, id + extension)) }),
  });
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

/** The agents whose transcripts are in this folder, sorted; none if it can't be read. */
export async function listAgents(folder: string): Promise<readonly AgentId[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.flatMap((name) => (agentLogName.test(name) ? [agentId(basename(name, extension))] : [])).toSorted();
}

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

const indexVersion = 1;

const rowShape = z.object({
  sessionId: z.string().transform((text): SessionId => sessionId(text)),
  fullPath: z.string(),
  fileMtime: z.number(),
  firstPrompt: z.string(),
  summary: z.string().optional(),
  messageCount: z.int().nonnegative().optional(),
  created: z.string().transform(isoTime).optional(),
  modified: z.string().transform(isoTime).pipe(z.string()),
  gitBranch: z.string().optional(),
  projectPath: z.string().optional(),
  isSidechain: z.boolean(),
  sizeBytes: z.int().nonnegative().transform(bytes),
});
/** Rows are checked one by one: a row that another tool wrote is dropped without losing the whole cache. */
const indexShape = z.object({
  version: z.literal(indexVersion),
  entries: z.array(z.unknown()),
  originalPath: z.string().optional(),
});

/** A row as it is stored in the file. */
export interface IndexRow extends SessionSummary {
  readonly fullPath: string;
  readonly fileMtime: number;
}

interface SessionsIndex {
  readonly rowByPath: ReadonlyMap<string, IndexRow>;
  readonly originalPath: string | undefined;
}

const indexPath = (folder: string): string => join(folder, "sessions-index.json");

/** Never fails: the index is a cache, and without it the transcripts are read. */
async function readIndex(folder: string): Promise<SessionsIndex> {
  const index = indexShape.safeParse(await readJson(indexPath(folder)));
  if (!index.success) return { rowByPath: new Map(), originalPath: undefined };
  const rows = index.data.entries.flatMap((row) => parseRow(row) ?? []);
  return { rowByPath: new Map(rows.map((row) => [row.fullPath, row])), originalPath: index.data.originalPath };
}

function parseRow(value: unknown): IndexRow | undefined {
  const row = rowShape.safeParse(value).data;
  if (row === undefined || basename(row.fullPath) !== `${row.sessionId}.jsonl`) return undefined;
  const { summary, messageCount, created, gitBranch, projectPath } = row;
  return { ...row, summary, messageCount, created, gitBranch, projectPath };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return parseJson((await readSmallFile(path, indexBytesMax)) ?? "");
  } catch {
    return undefined;
  }
}

/** A failure to write the cache is ignored: the next list reads the transcripts again. */
async function writeIndex({
  folder,
  rows,
  originalPath,
}: {
  readonly folder: string;
  readonly rows: readonly IndexRow[];
  readonly originalPath: string | undefined;
}): Promise<void> {
  const index = {
    version: indexVersion,
    entries: rows,
    originalPath: originalPath ?? rows.find((row) => row.projectPath !== undefined)?.projectPath,
  };
  try {
    await replaceFile({ path: indexPath(folder), data: Buffer.from(JSON.stringify(index)), sync: "unsynced" });
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}

/** Removes temporary files of processes that were killed while they wrote an index. Must not reject: these files do no harm. */
async function removeUnfinishedIndexes({ now }: ClockDep, folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((candidate) => isTemporaryFor(candidate, indexPath(folder)))) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || Math.abs(now() - stats.mtimeMs) < indexWriteMsMax) continue;
    await rm(path, { force: true }).catch(() => undefined);
  }
}
