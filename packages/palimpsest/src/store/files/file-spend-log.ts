import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  writeSync,
} from "node:fs";
import { chmod, lstat, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type SpendEntry, spendDay, sumSpend } from "../../cache/background-budget.ts";
import { costSources } from "../../cache/cost-ledger.ts";
import type { SpendLog } from "../../ports/spend-log.ts";
import { type Millis, millis, nanoUsd } from "../../schema/brand.ts";
import { tryParseJson } from "../../schema/json.ts";
import { spendDayBytesMax, spendKeptMs } from "../limits.ts";
import { fileMode, folderMode, isTaken } from "./disk.ts";
import { readRange } from "./file-source.ts";

/**
 * One file a UTC day, with a line for each entry:
 *
 *   <folder>/.spend/2026-11-17.jsonl    {"at":1794873600000,"source":"main","nanos":8550000}
 *
 * Files only grow, and days that are over are removed whole: nothing is ever rewritten, so several processes append
 * without a lock. The name `.spend` can't be that of a session. Links are not followed, damaged lines do not count.
 */
export function fileSpendLog({ folder: projectFolder }: { readonly folder: string }): SpendLog {
  const folder = join(projectFolder, ".spend");
  let tidiedOn: string | undefined;
  return {
    add: async (entry) => {
      try {
        const day = spendDay(entry.at);
        await makeSpendFolder(folder);
        appendLine(join(folder, `${day}.jsonl`), entry);
        if (tidiedOn === day) return;
        tidiedOn = day;
        await removeOldDays(folder, entry.at);
      } catch {
        // The port's contract: an entry may be lost.
      }
    },
    since: async (at) => {
      const entries: SpendEntry[] = [];
      const first = spendDay(at);
      for (const { name, day } of await listDays(folder))
        if (day >= first) entries.push(...(await readDay(join(folder, name))));
      return sumSpend(entries.filter((entry) => entry.at >= at));
    },
  };
}

/** Not its parent: the folder of a project that was removed must not come back because of a late entry. */
async function makeSpendFolder(folder: string): Promise<void> {
  // A synchronous look, which is cheaper than one on another thread: nearly always it is there.
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  try {
    await mkdir(folder, { mode: folderMode });
    await chmod(folder, folderMode);
  } catch (error) {
    if (!isTaken(error) || !(await lstat(folder)).isDirectory()) throw error;
  }
}

/**
 * One write, so that lines of several processes never mix. On this thread: there is one for each reply, and handing five
 * calls to another thread takes longer than the calls. If the disk is full, the entry is lost.
 */
function appendLine(path: string, { at, source, nanos }: SpendEntry): void {
  const file = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | plainFileFlags, fileMode);
  try {
    const { size, mode } = checkPlainFile(fstatSync(file));
    if (size >= spendDayBytesMax) return;
    if ((mode & 0o777) !== fileMode) fchmodSync(file, fileMode);
    // What a killed process left of a line must not damage this one.
    const last = Buffer.alloc(1, "\n");
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    const line = `${last.toString() === "\n" ? "" : "\n"}${JSON.stringify({ at: Math.floor(at), source, nanos })}\n`;
    writeSync(file, line);
  } finally {
    closeSync(file);
  }
}

/** Neither follows a link nor waits for the other end of a pipe. */
const plainFileFlags = constants.O_NOFOLLOW | constants.O_NONBLOCK;

function checkPlainFile(stats: Stats): Stats {
  if (!stats.isFile()) throw Object.assign(new Error("no ordinary file"), { code: "EISDIR" });
  return stats;
}

const dayFileName = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;

async function listDays(folder: string): Promise<readonly { readonly name: string; readonly day: string }[]> {
  const stats = await lstat(folder).catch(() => undefined);
  const names = stats?.isDirectory() === true ? await readdir(folder).catch((): string[] => []) : [];
  return names.flatMap((name) => {
    const day = dayFileName.exec(name)?.[1];
    return day === undefined ? [] : [{ name, day }];
  });
}

/** Another process may do the same at once. */
async function removeOldDays(folder: string, now: Millis): Promise<void> {
  const firstKept = spendDay(millis(now - spendKeptMs));
  for (const { name, day } of await listDays(folder))
    if (day < firstKept) await rm(join(folder, name), { force: true });
}

/** The last moment that a date can name. */
const timeMax = 8.64e15;
const entryShape = z.object({
  at: z.int().nonnegative().max(timeMax).transform(millis),
  source: z.enum(costSources),
  nanos: z.int().nonnegative().transform(nanoUsd),
});

async function readDay(path: string): Promise<readonly SpendEntry[]> {
  try {
    const file = await open(path, constants.O_RDONLY | plainFileFlags);
    try {
      const { size } = checkPlainFile(await file.stat());
      const bytes = await readRange(file, { start: 0, end: Math.min(size, spendDayBytesMax) });
      return Buffer.from(bytes).toString().split("\n").flatMap(parseLine);
    } finally {
      await file.close();
    }
  } catch {
    return [];
  }
}

function parseLine(line: string): readonly SpendEntry[] {
  const entry = entryShape.safeParse(tryParseJson(line)).data;
  return entry === undefined ? [] : [entry];
}
