import { constants, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { maskSecrets } from "palimpsest/internal/export/mask-secrets";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { fileMode, makeFolder, openNoFollow, replaceFile, writeAll } from "palimpsest/internal/store/files/disk";
import { errorCode, isAbsent } from "palimpsest/internal/store/files/write-failure";
import { historyBytesMax, historyEntriesMax, historyEntryCharsMax, historyLinesMax } from "../limits.ts";

/** What was typed in a project, for the arrow keys: oldest first. Never fails a chat: what the disk refuses is remembered until the end. */
export interface InputHistory {
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

/** No `.jsonl`: that would be a session. */
export const historyPath = (folder: string): string => join(folder, "input-history.ndjson");

/**
 * One JSON object a line, so that several chats of a project can append at once. Only when the file has grown to twice what
 * is kept is it written anew; a line that another chat appends in that moment may be lost.
 */
export async function openHistory({ folder, secrets }: HistoryOptions): Promise<InputHistory> {
  const path = historyPath(folder);
  const read = await readHistory(path);
  let entries: readonly string[] = read.entries.slice(-historyEntriesMax);
  if (read.entries.length > historyLinesMax) await ignoreDiskErrors(() => rewriteHistory(path, entries));
  return {
    get entries() {
      return entries;
    },
    add: async (text) => {
      const next = withEntry(entries, text);
      if (next === entries) return;
      entries = next;
      if (read.state === "foreign" || text.length > historyEntryCharsMax) return;
      await ignoreDiskErrors(() => appendLine(path, formatEntryLine(maskText(text, secrets))));
    },
  };
}

/** A message that repeats the last one adds nothing, nor does an empty one. */
export function withEntry(entries: readonly string[], text: string): readonly string[] {
  if (text.trim() === "" || entries.at(-1) === text) return entries;
  return [...entries.slice(1 - historyEntriesMax), text];
}

/** Known secrets as a whole, then everything that looks like one. */
function maskText(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= secretCharsMin);
  return maskSecrets(known.reduce((left, secret) => left.replaceAll(secret, "[secret]"), text));
}

/** A shorter one would stand in every other word. */
const secretCharsMin = 6;

const formatEntryLine = (text: string): string => `${JSON.stringify({ text })}\n`;

const lineShape = z.object({ text: z.string() });

interface HistoryFile {
  readonly entries: readonly string[];
  /** `foreign`: what stands there is not written to. */
  readonly state: "ours" | "foreign";
}

/** Lines that can't be read are left out: a torn one is no loss. */
async function readHistory(path: string): Promise<HistoryFile> {
  try {
    const file = await openNoFollow(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > historyBytesMax) return { entries: [], state: "foreign" };
      const lines = (await file.readFile("utf8")).split("\n");
      const read = lines.map((line) => lineShape.safeParse(tryParseJson(line)));
      return { entries: read.flatMap((one) => (one.success ? [one.data.text] : [])), state: "ours" };
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

async function ignoreDiskErrors(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
  }
}
