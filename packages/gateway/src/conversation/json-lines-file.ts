import { appendFile, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isAbsent } from "palimpsest/internal/store/files/disk";

interface SizeLimit {
  readonly bytesMax: number;
  /** Which lines stay when the file would become larger. */
  readonly shorten: (lines: readonly string[]) => readonly string[];
}

/**
 * A file of JSON lines, to which lines are added and which is now and then written anew. Readable for its owner alone. One
 * call runs after the other. Only a file that is not there is empty: one that can't be read is never replaced by what was
 * read of it. A write that fails or is cut off costs its own lines only: the next one begins on a new line.
 */
export class JsonLinesFile {
  readonly #path: string;
  readonly #limit: SizeLimit | undefined;
  /** Undefined: not known. */
  #bytes: number | undefined;
  /** The last line may lack its end: a process may have been killed meanwhile. */
  #isTorn = true;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(path: string, limit?: SizeLimit) {
    this.#path = path;
    this.#limit = limit;
  }

  /** Lines as they are in the file: the last one may be cut off. Rejects if it can't be read. */
  async read(): Promise<readonly string[]> {
    await this.#lastWrite;
    return await this.#read();
  }

  /** Resolves when all is written that comes before it too. Never rejects: lines that can't be written are lost, and no more. */
  append(entries: readonly object[]): Promise<void> {
    const text = joinLines(entries.map((entry) => JSON.stringify(entry)));
    return this.#inTurn(() => this.#append(text)).catch(() => undefined);
  }

  /** Replaces the file in one step. Rejects if it can't be written; then the file is as it was. */
  rewrite(entries: readonly object[]): Promise<void> {
    const lines = entries.map((entry) => JSON.stringify(entry));
    return this.#inTurn(() => this.#replace(lines));
  }

  /** Leaves only some of the lines. Rejects if the file can't be read or written; then it is as it was. */
  filter(keep: (lines: readonly string[]) => readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      const lines = await this.#read();
      const kept = keep(lines);
      if (kept.length < lines.length) await this.#replace(kept);
    });
  }

  #inTurn(write: () => Promise<void>): Promise<void> {
    const written = this.#lastWrite.then(write);
    this.#lastWrite = written.catch(() => {
      this.#isTorn = true;
      this.#bytes = undefined;
    });
    return written;
  }

  async #read(): Promise<readonly string[]> {
    const text = await readFile(this.#path, "utf8").catch(ifAbsent(""));
    return text.split("\n").filter((line) => line !== "");
  }

  async #append(added: string): Promise<void> {
    if (added === "") return;
    if (this.#bytes === undefined) {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      const stats = await stat(this.#path).catch(ifAbsent(undefined));
      this.#bytes = stats?.size ?? 0;
    }
    const text = this.#isTorn && this.#bytes > 0 ? `\n${added}` : added;
    if (this.#limit !== undefined && this.#bytes + Buffer.byteLength(text) > this.#limit.bytesMax)
      await this.#replace(this.#limit.shorten(await this.#read()));
    await appendFile(this.#path, text, { mode: 0o600 });
    this.#isTorn = false;
    this.#bytes += Buffer.byteLength(text);
  }

  async #replace(lines: readonly string[]): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const text = joinLines(lines);
    // Always the same name: what a crash leaves there goes with the next one.
    const temporary = `${this.#path}.new`;
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    await rename(temporary, this.#path);
    this.#isTorn = false;
    this.#bytes = Buffer.byteLength(text);
  }
}

const joinLines = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

/** For a read that may find nothing: any other failure is passed on. */
export const ifAbsent =
  <Value>(value: Value) =>
  (error: unknown): Value => {
    if (isAbsent(error)) return value;
    throw error;
  };
