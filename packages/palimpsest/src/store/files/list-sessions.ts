import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { sessionId } from "../../schema/brand.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { ListCounting } from "../../ports/session-list.ts";
import { listedTogetherMax } from "../limits.ts";
import { isSessionName } from "../session-name.ts";
import { byNewest, summarise } from "../summarise.ts";
import { byteSourceOfOwnFile } from "./byte-source.ts";
import { isAbsent } from "./failure.ts";
import { type IndexRow, readIndex, removeUnfinishedIndexes, writeIndex } from "./sessions-index.ts";

const extension = ".jsonl";

/** Rows of transcripts that have not changed come from the index; the index is rebuilt from the rest. */
export async function listSessions(
  deps: ClockDep,
  { folder, counting }: { readonly folder: string; readonly counting: ListCounting },
): Promise<readonly IndexRow[]> {
  const ids = await sessionIds(folder);
  const index = await readIndex(folder);
  const rows = await inBatches(ids, (id) =>
    rowOf({ folder, id, counting, earlier: index.rowByPath.get(join(folder, id + extension)) }),
  );
  const found = rows.filter((row) => row !== undefined).toSorted(byNewest);
  const changed =
    found.length !== index.rowByPath.size || found.some((row) => index.rowByPath.get(row.fullPath) !== row);
  if (changed) await writeIndex({ folder, rows: found, originalPath: index.originalPath });
  await removeUnfinishedIndexes(deps, folder);
  return found;
}

/** Links are left out: what they lead to may be another tool's file, which is not ours to write. */
export async function sessionIds(folder: string): Promise<readonly string[]> {
  try {
    const found = await readdir(folder, { withFileTypes: true });
    const names = found.filter((item) => !item.isSymbolicLink()).map((item) => item.name);
    const ids = names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length));
    return ids.filter((id) => isSessionName(sessionId(id)));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

interface Row {
  readonly folder: string;
  readonly id: string;
  readonly earlier: IndexRow | undefined;
  readonly counting: ListCounting;
}

/** A transcript that can't be read is left out: one bad file must not hide the others. */
async function rowOf({ folder, id, earlier, counting }: Row): Promise<IndexRow | undefined> {
  const fullPath = join(folder, id + extension);
  const isEnough = counting === "near" || earlier?.messageCount !== undefined;
  if (earlier !== undefined && isEnough && (await isFresh(earlier))) return earlier;
  const opened = await byteSourceOfOwnFile(fullPath);
  if (opened.kind !== "open") return undefined;
  const { source } = opened;
  try {
    const { mtimeMs, birthtimeMs } = source;
    const asked = { source, sessionId: sessionId(id), mtimeMs, birthtimeMs, earlier, counting };
    const { sessionId: named, ...summary } = await summarise(asked);
    return { sessionId: named, fullPath, fileMtime: mtimeMs, ...summary };
  } finally {
    await source.close();
  }
}

async function isFresh({ fullPath, fileMtime, sizeBytes }: IndexRow): Promise<boolean> {
  const seen = await lstat(fullPath).catch(() => undefined);
  return seen !== undefined && seen.isFile() && seen.mtimeMs === fileMtime && seen.size === sizeBytes;
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
