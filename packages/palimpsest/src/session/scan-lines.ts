import type { ByteSource } from "../ports/transcripts.ts";
import { lineBytesMax } from "../transcript/limits.ts";
import {
  type Damage,
  type LineBytes,
  type LinesRead,
  type LoggedEntry,
  readLine,
  readLines,
} from "../transcript/read-lines.ts";
import { scanChunkBytes, tailChunkBytes } from "./limits.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import { utf8Length } from "../tokens/estimate-block.ts";

export const newline = 0x0a;

interface ScanOptions {
  /** Size of one read; by default the limit in `limits.ts`. */
  readonly chunkBytes?: number;
}

interface ForwardScanOptions extends ScanOptions {
  /** The offset of a line; by default the beginning of the log. */
  readonly from?: number;
}

/** Whole lines, or the place of a line over the limit that was skipped unread. */
type ScannedLines = ({ readonly kind: "lines" } & LineBytes) | { readonly kind: "too-long"; readonly damage: Damage };

/** The lines of a log in order, a chunk at a time. Memory: a chunk and one line of the longest size allowed. */
export async function* scanLines(source: ByteSource, options: ForwardScanOptions = {}): AsyncGenerator<ScannedLines> {
  const chunkBytes = options.chunkBytes ?? scanChunkBytes;
  const held = new PartialLine();
  for (let at = options.from ?? 0; at < source.size;) {
    const start = at;
    const chunk = await source.read({ start, end: Math.min(start + chunkBytes, source.size) });
    if (chunk.length === 0) return;
    at += chunk.length;
    const last = at >= source.size;
    const firstEnd = chunk.indexOf(newline);
    if (firstEnd === -1 && !last) {
      held.push(chunk);
      continue;
    }
    const complete = last ? chunk.length : chunk.lastIndexOf(newline) + 1;
    const lineEnd = firstEnd === -1 ? chunk.length : firstEnd;
    if (held.length + lineEnd > lineBytesMax) {
      yield { kind: "too-long", damage: tooLong(start - held.length, start + lineEnd) };
      const rest = Math.min(lineEnd + 1, complete);
      yield { kind: "lines", bytes: chunk.subarray(rest, complete), start: start + rest, last };
    } else {
      yield { kind: "lines", bytes: held.before(chunk.subarray(0, complete)), start: start - held.length, last };
    }
    held.restart(chunk.subarray(complete));
  }
}

/** Every entry of a log in order, a chunk at a time. */
export async function* scanForward(source: ByteSource, options: ForwardScanOptions = {}): AsyncGenerator<LinesRead> {
  for await (const lines of scanLines(source, options)) {
    yield lines.kind === "lines" ? readLines(lines) : { logged: [], damage: [lines.damage] };
  }
}

interface TailScanOptions extends ScanOptions {
  /** Size of the first piece; each later one is twice as large. */
  readonly firstBytes?: number | undefined;
}

/** Reads the entries of a log from its end backwards, a larger piece with each call. */
export class TailScan {
  bytesRead = 0;
  /** Newest piece first. */
  readonly #damage: Damage[][] = [];
  readonly #source: ByteSource;
  readonly #chunkBytes: number;
  #start: number;
  #pieceBytes: number;
  /** Bytes from `#start` to the next newline: a line whose beginning has not been read. */
  readonly #held = new PartialLine();

  constructor(source: ByteSource, options: TailScanOptions = {}) {
    this.#source = source;
    this.#start = source.size;
    this.#chunkBytes = options.chunkBytes ?? scanChunkBytes;
    this.#pieceBytes = options.firstBytes ?? tailChunkBytes;
  }

  get done(): boolean {
    return this.#start === 0;
  }

  /** In the order of the log. */
  get damage(): Damage[] {
    return this.#damage.toReversed().flat();
  }

  /** The lines before those read so far, in the order of the log. */
  async older(): Promise<LoggedEntry[]> {
    const until = Math.max(0, this.#start - this.#pieceBytes);
    this.#pieceBytes *= 2;
    const newestFirst: LoggedEntry[][] = [];
    while (this.#start > until) newestFirst.push(await this.#readBack(Math.max(until, this.#start - this.#chunkBytes)));
    return newestFirst.toReversed().flat();
  }

  async #readBack(start: number): Promise<LoggedEntry[]> {
    const end = this.#start;
    const chunk = await this.#source.read({ start, end });
    this.bytesRead += chunk.length;
    this.#start = start;
    const lastEnd = chunk.lastIndexOf(newline);
    if (lastEnd === -1 && start > 0) {
      this.#held.unshift(chunk);
      return [];
    }
    const from = start === 0 ? 0 : chunk.indexOf(newline) + 1;
    const read = this.#readLines({ chunk, from, start, lineFrom: lastEnd + 1 });
    this.#held.restart(chunk.subarray(0, Math.max(0, from - 1)));
    this.#damage.push(read.damage);
    return read.logged;
  }

  /** The chunk's lines from `from` on; the last of them begins at `lineFrom` and continues in `#held`. */
  #readLines({
    chunk,
    from,
    start,
    lineFrom,
  }: {
    chunk: Uint8Array;
    from: number;
    start: number;
    lineFrom: number;
  }): LinesRead {
    const lineEnd = start + chunk.length + this.#held.length;
    if (chunk.length - lineFrom + this.#held.length > lineBytesMax) {
      const read = readLines({ bytes: chunk.subarray(from, Math.max(from, lineFrom)), start: start + from });
      read.damage.push(tooLong(start + lineFrom, lineEnd));
      return read;
    }
    return readLines({
      bytes: this.#held.behind(chunk.subarray(from)),
      start: start + from,
      last: lineEnd === this.#source.size,
    });
  }
}

/** Parts of one line, joined once. If the line gets too long, only its length is kept, to save memory. */
class PartialLine {
  #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(part: Uint8Array): void {
    this.#add(part);
    if (this.#length <= lineBytesMax) this.#parts.push(part);
  }

  unshift(part: Uint8Array): void {
    this.#add(part);
    if (this.#length <= lineBytesMax) this.#parts.unshift(part);
  }

  restart(part: Uint8Array): void {
    this.#parts = [];
    this.#length = 0;
    this.push(part);
  }

  before(rest: Uint8Array): Uint8Array {
    return this.#length === 0 ? rest : Buffer.concat([...this.#parts, rest]);
  }

  behind(first: Uint8Array): Uint8Array {
    return this.#length === 0 ? first : Buffer.concat([first, ...this.#parts]);
  }

  #add(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > lineBytesMax) this.#parts = [];
  }
}

/** Reads one line by its place. */
export async function readPlace(
  source: ByteSource,
  place: { readonly start: number; readonly end: number },
): Promise<LoggedEntry | undefined> {
  const read: LinesRead = { logged: [], damage: [] };
  readLine({ bytes: await source.read(place), start: place.start }, read);
  return read.logged[0];
}

const tooLong = (start: number, end: number): Damage => ({
  kind: "too-long",
  start,
  end,
  detail: `a line of ${end - start} bytes; the limit is ${lineBytesMax}`,
});

/** Fails for a line above the limit: readers skip such a line, so its entry would be missing from the view at the next start. */
export function checkLineSize(line: string): WriteFailure | undefined {
  if (line.length <= lineBytesMax / 3) return undefined;
  const size = utf8Length(line);
  if (size <= lineBytesMax) return undefined;
  const message = `The entry has ${size} bytes; one line holds at most ${lineBytesMax}. Offload its content first.`;
  return { kind: "failed", why: "too-large", message };
}
