import {
  type BigIntStats,
  closeSync,
  type Dirent,
  fstatSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
} from "node:fs";
import { lstat, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { memoryBytesMax, memoryFilesMax } from "../../memory/directory/limits.ts";
import { checkMemoryPath } from "../../memory/directory/memory-path.ts";
import { type CurrentFile, hashMemory } from "../../memory/directory/plan-commit.ts";
import { type MemoryHash, type Millis, millis } from "../../schema/brand.ts";
import type { MemoryRevision, MemoryRevisionChange } from "../../ports/memories.ts";
import { fileTimeCoarseMs } from "../limits.ts";
import { isAbsent, isLink, makeFolder, syncFolder, writeNewFile } from "./disk.ts";
import { openIfThere, unfinishedPath } from "./memory-log.ts";

/** A file of the folder, and when it was changed. */
export interface SeenFile extends CurrentFile {
  readonly modifiedMs: Millis;
}

/** The files of one memory folder. They are small, so that they are read synchronously, in less time than a thread takes to answer. Links are never followed, hidden files never looked at; what is not text is no memory. */
export class MemoryFolder {
  readonly path: string;
  readonly #cacheByPath = new Map<string, CachedFile>();

  constructor(path: string) {
    this.path = path;
  }

  /** `missing` also if a link stands in its place. */
  state(): "there" | "missing" {
    return lstatSync(this.path, { throwIfNoEntry: false })?.isDirectory() === true ? "there" : "missing";
  }

  /** Every file by its path. Reads only those that have changed since the last scan. */
  scan(): ReadonlyMap<string, SeenFile> {
    const paths: string[] = [];
    collectPaths(this.path, { inside: "", paths });
    const seenByPath = new Map<string, SeenFile>();
    for (const path of paths.toSorted()) {
      const seen = this.read(path);
      if (seen !== undefined) seenByPath.set(path, seen);
    }
    for (const path of this.#cacheByPath.keys()) if (!seenByPath.has(path)) this.#cacheByPath.delete(path);
    return seenByPath;
  }

  /** Undefined if there is no such file, or it is not a text of a memory's size. */
  read(path: string): SeenFile | undefined {
    const full = join(this.path, path);
    const cached = this.#cacheByPath.get(path);
    const looked = lstatSync(full, { bigint: true, throwIfNoEntry: false });
    if (looked?.isFile() !== true) return undefined;
    if (cached?.identity === identify(looked)) return cached.seen;
    const file = openUnlessLink(full);
    if (file === undefined) return undefined;
    try {
      const stats = fstatSync(file, { bigint: true });
      if (!stats.isFile() || stats.size > BigInt(memoryBytesMax)) return undefined;
      const text = decodeText(readFileSync(file));
      if (text === undefined) return undefined;
      const seen = { hash: hashMemory(text), text, modifiedMs: millis(Number(stats.mtimeNs / 1_000_000n)) };
      // A change within the same tick of the file system's clock would not be seen.
      if (Date.now() - Number(stats.ctimeMs) > fileTimeCoarseMs)
        this.#cacheByPath.set(path, { identity: identify(stats), seen });
      return seen;
    } finally {
      closeSync(file);
    }
  }

  /** Writes the new texts beside the files, so that a full disk is noticed before anything has changed. */
  async prepare(changes: readonly MemoryRevisionChange[], source: PreparedSource): Promise<PreparedTexts> {
    const scratchByPath = new Map<string, string>();
    const discard = async (): Promise<void> => {
      for (const path of scratchByPath.values()) await rm(path, { force: true });
    };
    try {
      for (const { path, after } of changes) {
        const text = after === undefined ? undefined : source.text(after);
        if (text === undefined) continue;
        const scratch = unfinishedPath(source.scratch);
        scratchByPath.set(path, scratch);
        await writeNewFile({ path: scratch, data: new TextEncoder().encode(text), sync: "synced" });
      }
    } catch (error) {
      await discard();
      throw error;
    }
    return { scratchByPath, discard };
  }

  /**
   * Puts the files in the state that a revision says. A file that has neither its old nor its new text was edited by a
   * user in the meantime and is left as it is; its path is returned.
   */
  async apply({ changes }: MemoryRevision, { scratchByPath }: PreparedTexts): Promise<readonly string[]> {
    const left: string[] = [];
    const folders = new Set<string>();
    for (const { path, before, after } of changes) {
      const current = this.read(path);
      if (current?.hash === after) continue;
      const prepared = scratchByPath.get(path);
      const isFree = current !== undefined || !this.#isTaken(path);
      if (current?.hash !== before || !isFree || (after !== undefined && prepared === undefined)) {
        left.push(path);
        continue;
      }
      const full = join(this.path, path);
      folders.add(dirname(full));
      if (prepared === undefined) await this.#remove(path);
      else {
        await this.#makeParents(path);
        renameSync(prepared, full);
      }
    }
    for (const folder of folders) await syncFolder(folder).catch(ignoreAbsent);
    return left;
  }

  /** Something that is no memory: a folder, a link, a file that is too large. */
  #isTaken(path: string): boolean {
    return lstatSync(join(this.path, path), { throwIfNoEntry: false }) !== undefined;
  }

  async #makeParents(path: string): Promise<void> {
    const folder = dirname(join(this.path, path));
    if (folder === this.path) return;
    await makeFolder(folder);
    // A link to a folder would lead out; `makeFolder` takes it for a folder.
    for (let at = folder; at.length > this.path.length; at = dirname(at))
      if (!(await lstat(at)).isDirectory()) throw Object.assign(new Error(`${at} is a link`), { code: "ELOOP" });
  }

  async #remove(path: string): Promise<void> {
    await rm(join(this.path, path), { force: true });
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
      const isRemoved = await rmdir(join(this.path, folder)).then(
        () => true,
        () => false,
      );
      if (!isRemoved) return;
    }
  }
}

/** What stands in the way of a commit, though a look may not notice it. In one line for the user. */
export function findObstacle(folder: string): string | undefined {
  const history = join(folder, ".history");
  for (const path of [folder, history]) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (!stats.isDirectory()) return `${path}: a file or a link stands in place of the folder.`;
  }
  const lock = join(history, "lock");
  const isFolder = lstatSync(lock, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? `${lock} is a folder, so that nothing can be written.` : undefined;
}

/** The system's code tells its errors from bugs. */
export function diskMessage(error: unknown, path: string): string {
  if (!(error instanceof Error && "code" in error)) throw error;
  return `${path} can't be read: ${error.message}`;
}

const identify = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(" ");

interface CachedFile {
  readonly identity: string;
  readonly seen: SeenFile;
}

interface PreparedSource {
  readonly text: (hash: MemoryHash) => string | undefined;
  /** The folder for unfinished files. */
  readonly scratch: string;
}

interface PreparedTexts {
  /** The unfinished file of each path that gets a text. */
  readonly scratchByPath: ReadonlyMap<string, string>;
  /** Removes what was not put in place. */
  readonly discard: () => Promise<void>;
}

interface Collection {
  readonly inside: string;
  readonly paths: string[];
}

function collectPaths(root: string, { inside, paths }: Collection): void {
  const entries = listFolder(join(root, inside));
  for (const entry of entries) {
    const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
    const checked = checkMemoryPath(path);
    // A name that is stored in another form than ours belongs to another program.
    if (checked.kind === "wrong" || checked.path !== path || paths.length >= memoryFilesMax) continue;
    if (entry.isDirectory()) collectPaths(root, { inside: path, paths });
    else if (entry.isFile()) paths.push(path);
  }
}

function listFolder(path: string): readonly Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function openUnlessLink(path: string): number | undefined {
  try {
    return openIfThere(path);
  } catch (error) {
    if (isLink(error)) return undefined;
    throw error;
  }
}

function decodeText(data: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

function ignoreAbsent(error: unknown): void {
  if (!isAbsent(error)) throw error;
}
