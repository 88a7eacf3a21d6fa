import { constants, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import { tryParseJson } from "palimpsest/internal/schema/json";
import {
  fileMode,
  makeFolder,
  openNoFollow,
  replaceFile,
  writeAll,
  errorCode,
  isAbsent,
} from "palimpsest/internal/store/files/disk";
import { historyBytesMax, historyEntriesMax, historyEntryCharsMax, historyLinesMax } from "../limits.ts";

/** Messages typed in a project, for the arrow keys. Disk errors never fail a chat: then messages last for the session only. */
export interface InputHistory {
  /** Oldest first. */
  readonly entries: readonly string[];
  /** Must not reject. */
  add(text: string): Promise<void>;
}

interface HistoryOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  /** Texts that never reach the disk, such as the keys that settings and environment hold. */
  readonly secrets: readonly string[];
}

/** Not `.jsonl`, which marks a session. */
export const historyPath = (folder: string): string => join(folder, "input-history.ndjson");

/**
 * One JSON object per line, so that several chats of a project can append at once. The file is only rewritten when it has
 * grown to twice the number of entries kept; a line that another chat appends at that moment may be lost.
 */
export async function openHistory({ folder, secrets }: HistoryOptions): Promise<InputHistory> {
  const path = historyPath(folder);
  const file = await readHistory(path);
  let entries: readonly string[] = file.entries.slice(-historyEntriesMax);
  if (file.entries.length > historyLinesMax) await ignoreDiskErrors(() => rewriteHistory(path, entries));
  return {
    get entries() {
      return entries;
    },
    add: async (text) => {
      const next = withEntry(entries, text);
      if (next === entries) return;
      entries = next;
      if (file.state === "foreign" || text.length > historyEntryCharsMax) return;
      await ignoreDiskErrors(() => appendLine(path, formatEntryLine(maskText(text, secrets))));
    },
  };
}

/** Unchanged if the message is empty or repeats the last one. */
export function withEntry(entries: readonly string[], text: string): readonly string[] {
  if (text.trim() === "" || entries.at(-1) === text) return entries;
  return [...entries.slice(1 - historyEntriesMax), text];
}

/** Masks the known secrets, then everything that looks like one. */
function maskText(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= secretCharsMin);
  return maskSecrets(known.reduce((masked, secret) => masked.replaceAll(secret, "[secret]"), text));
}

/** A shorter secret would match ordinary words. */
const secretCharsMin = 6;

const formatEntryLine = (text: string): string => `${JSON.stringify({ text })}\n`;

const lineShape = z.object({ text: z.string() });

interface HistoryFile {
  readonly entries: readonly string[];
  /** `foreign`: not our file, so it is never written to. */
  readonly state: "ours" | "foreign";
}

/** Skips lines that cannot be parsed, such as a torn one. */
async function readHistory(path: string): Promise<HistoryFile> {
  try {
    const file = await openNoFollow(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > historyBytesMax) return { entries: [], state: "foreign" };
      const lines = (await file.readFile("utf8")).split("\n");
      const parsed = lines.map((line) => lineShape.safeParse(tryParseJson(line)));
      return { entries: parsed.flatMap(({ data }) => (data === undefined ? [] : [data.text])), state: "ours" };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { entries: [], state: isAbsent(error) ? "ours" : "foreign" };
  }
}

async function appendLine(path: string, line: string): Promise<void> {
  await makeFolder(dirname(path));
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, fileMode);
  try {
    await file.chmod(fileMode);
    await writeAll(file, Buffer.from(line));
  } finally {
    await file.close();
  }
}

const rewriteHistory = (path: string, entries: readonly string[]): Promise<void> =>
  replaceFile({ path, data: Buffer.from(entries.map(formatEntryLine).join("")), sync: "unsynced" });

async function ignoreDiskErrors(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}
