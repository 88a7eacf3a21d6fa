import { lstat, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { type SessionId, bytes, sessionId } from "../../schema/brand.ts";
import { parseJson } from "../../schema/json.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { SessionSummary } from "../../ports/store.ts";
import { indexBytesMax, indexWriteMsMax } from "../limits.ts";
import { isoTime } from "../summarise-session.ts";
import { isTemporaryFor, readSmallFile, replaceFile } from "./disk.ts";
import { errorCode } from "./write-failure.ts";

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
export async function readIndex(folder: string): Promise<SessionsIndex> {
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
export async function writeIndex({
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
export async function removeUnfinishedIndexes({ now }: ClockDep, folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((candidate) => isTemporaryFor(candidate, indexPath(folder)))) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || Math.abs(now() - stats.mtimeMs) < indexWriteMsMax) continue;
    await rm(path, { force: true }).catch(() => undefined);
  }
}
