import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, rm } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { RecordedFiles } from "../../memory/directory/recorded-files.ts";
import { type CommitPlan, hashMemory } from "../../memory/directory/plan-commit.ts";
import type { MemoryRevision } from "../../ports/memories.ts";
import { memoryHash, type MemoryHash, memoryRevisionId } from "../../schema/brand.ts";
import { isObject, type JsonObject, parseJson } from "../../schema/json.ts";
import { memoryDeltasMax, memoryLogBytesMax } from "../limits.ts";
import { createFile, isAbsent, isTaken, openNoFollow, replaceFile, writeAll } from "./disk.ts";
import { parseLogLine, restoreText, type StoredText, storeText, type TextDelta } from "./memory-log-line.ts";

/**
 * The history of a memory directory and its journal: one file of JSON lines, written only under the directory's lock.
 *
 *   log ──▶ its id                       a purge writes a new file, with a new id: readers start again
 *   revision ──▶ files are renamed ──▶ applied
 *
 *   unreadable line, or one without its end ──▶ what is there is recorded as untrusted ──▶ checked
 *
 * A revision holds its new texts, whole or as the difference from the text before, so that it can be completed after a
 * crash at any moment: a line without its end never happened and is cut off; a revision that is not applied is applied at
 * the next look.
 */
export class MemoryLog {
  readonly path: string;
  #id = "";
  #end = 0;
  #size = 0;
  #recorded = new RecordedFiles();
  #revisions: MemoryRevision[] = [];
  #placeByHash = new Map<MemoryHash, TextPlace>();
  #pending: MemoryRevision | undefined;
  #isDoubtful = false;

  constructor(folder: string) {
    this.path = join(folder, "log.jsonl");
  }

  get recorded(): RecordedFiles {
    return this.#recorded;
  }

  /** `unknown`: there is no history, or a part of it can't be read. Files that it does not know may be anybody's. */
  get origins(): "known" | "unknown" {
    return this.#end === 0 || this.isDoubtful ? "unknown" : "known";
  }

  /**
   * A line can't be read, and what is there has not been recorded since. The same if the last line has no end: a process
   * that was killed while it wrote has changed no file, but what was cut off later may have said that a text is a
   * stranger's. Behind a revision that is not applied only `applied` can stand.
   */
  get isDoubtful(): boolean {
    return this.#isDoubtful || (this.#size > this.#end && this.#pending === undefined);
  }

  /** Oldest first. */
  get revisions(): readonly MemoryRevision[] {
    return this.#revisions;
  }

  /** The newest revision, if its files may not be as it says. */
  get pending(): MemoryRevision | undefined {
    return this.#pending;
  }

  /** Reads what other processes have added. Synchronous: a few small reads are quicker than as many trips to another thread. */
  refresh(): void {
    const file = openIfThere(this.path);
    if (file === undefined) {
      this.#reset("");
      return;
    }
    try {
      const { size } = fstatSync(file);
      if (size > memoryLogBytesMax) throw tooLargeError(this.path);
      const head = decode(readPart(file, { start: 0, end: Math.min(size, headBytesMax) }));
      const id = /"log":"([^"]+)"/.exec(head.slice(0, head.indexOf("\n") + 1))?.[1] ?? "";
      if (id !== this.#id || size < this.#end) this.#reset(id);
      if (size > this.#end) this.#readLines(readPart(file, { start: this.#end, end: size }));
      this.#size = size;
    } finally {
      closeSync(file);
    }
  }

  /** Undefined if the history never had it, or it was purged. */
  text(hash: MemoryHash): string | undefined {
    const file = this.#placeByHash.has(hash) ? openIfThere(this.path) : undefined;
    if (file === undefined) return undefined;
    try {
      const deltas: TextDelta[] = [];
      for (let at = hash; deltas.length <= memoryDeltasMax;) {
        const stored = this.#readStored(file, at);
        if (stored === undefined) return undefined;
        if (typeof stored === "string") {
          const text = deltas.reduceRight((base, delta) => restoreText(base, delta), stored);
          return hashMemory(text) === hash ? text : undefined;
        }
        deltas.push(stored);
        at = stored.base;
      }
      return undefined;
    } finally {
      closeSync(file);
    }
  }

  #readStored(file: number, hash: MemoryHash): StoredText | undefined {
    const place = this.#placeByHash.get(hash);
    const line = place === undefined ? undefined : parseLogLine(decode(readPart(file, place)));
    return line?.kind === "revision" ? line.texts[hash] : undefined;
  }

  /** Records what is to be done, before it is done. Call `refresh` first, and hold the lock. */
  async append(
    { revision, textByHash, oldTextByHash }: Pick<CommitPlan, "revision" | "textByHash" | "oldTextByHash">,
    state: "pending" | "applied",
  ): Promise<void> {
    const texts: Record<string, StoredText> = {};
    for (const { before, after } of revision.changes) {
      const text = after === undefined || this.#placeByHash.has(after) ? undefined : textByHash.get(after);
      if (after === undefined || text === undefined) continue;
      const place = before === undefined ? undefined : this.#placeByHash.get(before);
      const old =
        before === undefined || place === undefined ? undefined : (oldTextByHash.get(before) ?? this.text(before));
      const isBase = before !== undefined && old !== undefined && (place?.deltas ?? memoryDeltasMax) < memoryDeltasMax;
      texts[after] = isBase ? storeText(text, { hash: before, text: old }) : text;
    }
    const line = { kind: "revision", ...toJson(revision), texts };
    const lines = state === "applied" ? [line, { kind: "applied", id: revision.id }] : [line];
    await this.#write(lines, "synced");
  }

  /** After a part that can't be read: all files are recorded now. Call `refresh` first, and hold the lock. */
  async markChecked(): Promise<void> {
    await this.#write([{ kind: "checked" }], "synced");
  }

  /** Not synced: if it is lost, the next look finds every file as the revision says. */
  async markApplied(revision: MemoryRevision): Promise<void> {
    await this.#write([{ kind: "applied", id: revision.id }], "unsynced");
  }

  /** Writes the history again, with these revisions and texts only. Call `refresh` first, and hold the lock. */
  async rewrite(revisions: readonly MemoryRevision[], keepText: (hash: MemoryHash) => boolean): Promise<void> {
    const last = this.#revisions.at(-1)?.id ?? memoryRevisionId("r0");
    const lines: object[] = [{ log: randomUUID() }];
    const deltasByHash = new Map<MemoryHash, number>();
    const newestByPath = new Map<string, { readonly hash: MemoryHash; readonly text: string }>();
    for (const revision of revisions) {
      const texts: Record<string, StoredText> = {};
      for (const { path, after } of revision.changes) {
        const text = after === undefined || deltasByHash.has(after) || !keepText(after) ? undefined : this.text(after);
        if (after === undefined || text === undefined) continue;
        const old = newestByPath.get(path);
        const deltas = old === undefined ? memoryDeltasMax : (deltasByHash.get(old.hash) ?? memoryDeltasMax);
        const stored = old === undefined || deltas >= memoryDeltasMax ? text : storeText(text, old);
        texts[after] = stored;
        deltasByHash.set(after, typeof stored === "string" ? 0 : deltas + 1);
        newestByPath.set(path, { hash: after, text });
      }
      lines.push({ kind: "revision", ...toJson(revision), texts }, { kind: "applied", id: revision.id });
    }
    lines.push({ kind: "purged", last });
    const data = new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await replaceFile({ path: this.path, data, sync: "synced" });
    this.refresh();
  }

  async #write(lines: readonly object[], sync: "synced" | "unsynced"): Promise<void> {
    const file = await this.#openForAppend();
    try {
      // What follows the last whole line was left by a process that was killed while it wrote.
      if (this.#size > this.#end) await file.truncate(this.#end);
      const head = this.#end === 0 ? [{ log: randomUUID() }] : [];
      const data = new TextEncoder().encode([...head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
      const written = await writeAll(file, data);
      if (written.kind === "part") {
        await file.truncate(this.#end);
        throw written.error;
      }
      if (sync === "synced") await file.datasync();
    } finally {
      await file.close();
    }
    this.refresh();
  }

  async #openForAppend(): Promise<FileHandle> {
    try {
      return await createFile(this.path);
    } catch (error) {
      if (!isTaken(error)) throw error;
      return await openNoFollow(this.path, constants.O_RDWR | constants.O_APPEND);
    }
  }

  #readLines(data: Uint8Array): void {
    for (let start = 0; ;) {
      const end = data.indexOf(newline, start);
      if (end === -1) return;
      const range = { start: this.#end, end: this.#end + end - start };
      this.#addLine(parseLogLine(decode(data.subarray(start, end))), range);
      this.#end = range.end + 1;
      start = end + 1;
    }
  }

  #addLine(line: ReturnType<typeof parseLogLine>, range: LineRange): void {
    switch (line.kind) {
      case "revision": {
        const { kind: _, texts, ...revision } = line;
        this.#recorded.add(revision);
        this.#revisions.push(revision);
        this.#addTexts(texts, range);
        this.#pending = revision;
        return;
      }
      case "applied":
        this.#pending = undefined;
        return;
      case "purged":
        this.#recorded.countUpTo(line.last);
        return;
      case "checked":
        this.#isDoubtful = false;
        return;
      case "unreadable":
        this.#isDoubtful = true;
        return;
      case "head":
    }
  }

  #addTexts(texts: Readonly<Record<string, StoredText>>, range: LineRange): void {
    for (const [hash, stored] of Object.entries(texts)) {
      // A difference from a text that is lost is no text.
      const deltas = typeof stored === "string" ? 0 : (this.#placeByHash.get(stored.base)?.deltas ?? Infinity) + 1;
      if (deltas <= memoryDeltasMax) this.#placeByHash.set(memoryHash(hash), { ...range, deltas });
    }
  }

  #reset(id: string): void {
    this.#id = id;
    this.#end = 0;
    this.#size = 0;
    this.#recorded = new RecordedFiles();
    this.#revisions = [];
    this.#placeByHash = new Map();
    this.#pending = undefined;
    this.#isDoubtful = false;
  }
}

interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** The line that holds a text. */
interface TextPlace extends LineRange {
  /** How many differences lead to it from a whole text. */
  readonly deltas: number;
}

const newline = 0x0a;
/** The first line is an id. */
const headBytesMax = 128;

const decode = (data: Uint8Array): string => new TextDecoder().decode(data);

/** Follows no link and never blocks: opening a pipe would otherwise wait for a writer. */
export function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

export function readPart(file: number, { start, end }: LineRange): Uint8Array {
  const data = new Uint8Array(end - start);
  let filled = 0;
  while (filled < data.length) {
    const count = readSync(file, data, filled, data.length - filled, start + filled);
    if (count === 0) break;
    filled += count;
  }
  return data.subarray(0, filled);
}

const tooLargeError = (path: string): Error =>
  Object.assign(new Error(`${path} has more than ${memoryLogBytesMax} bytes`), { code: "EFBIG" });

/** Without keys that are undefined. */
const toJson = (revision: MemoryRevision): JsonObject => {
  const json = parseJson(JSON.stringify(revision));
  return isObject(json) ? json : {};
};

/** Unfinished files of a writer that was killed. Only under the lock. */
export async function removeUnfinished(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) if (unfinishedShape.test(name)) await rm(join(folder, name), { force: true });
}

export const unfinishedPath = (folder: string): string => join(folder, `write.${randomUUID()}.tmp`);
const unfinishedShape = /^write\.[0-9a-f-]{36}\.tmp$/;
