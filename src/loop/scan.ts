import type { ByteSource } from "../ports/transcripts.ts";
import { lineBytesMax } from "../transcript/limits.ts";
import { type Damage, type LinesRead, type Logged, readLine, readLines } from "../transcript/lines.ts";
import { scanChunkBytes, tailChunkBytes } from "./limits.ts";

const newline = 0x0a;

/** Every line of a log in order, a chunk at a time, in bounded memory. */
export async function* scanForward(source: ByteSource, from = 0): AsyncGenerator<LinesRead> {
  let carried: Uint8Array = new Uint8Array();
  let start = from;
  /** Set while passing over a line that is longer than any line may be. */
  let overlongFrom: number | undefined;
  for (let at = from; at < source.size; ) {
    const chunk = await source.read({ start: at, end: Math.min(at + scanChunkBytes, source.size) });
    if (chunk.length === 0) break;
    at += chunk.length;
    const last = at >= source.size;
    const ends = chunk.lastIndexOf(newline);
    const read: LinesRead = { logged: [], damage: [] };
    if (overlongFrom !== undefined) {
      const end = chunk.indexOf(newline);
      if (end === -1 && !last) continue;
      const until = end === -1 ? at : at - chunk.length + end;
      read.damage.push(overlong(overlongFrom, until));
      overlongFrom = undefined;
      start = until + 1;
      carried = chunk.subarray(end === -1 ? chunk.length : end + 1);
    } else {
      carried = joined(carried, chunk);
    }
    const complete = last ? carried.length : ends === -1 ? 0 : carried.lastIndexOf(newline) + 1;
    readLines({ bytes: carried.subarray(0, complete), start, last }, read);
    start += complete;
    carried = carried.subarray(complete);
    if (carried.length > lineBytesMax) {
      overlongFrom = start;
      carried = new Uint8Array();
    }
    yield read;
  }
}

/** Lines of a log from its end backwards, each call a larger piece than the one before. */
export class TailScan {
  readonly damage: Damage[] = [];
  bytesRead = 0;
  readonly #source: ByteSource;
  #start: number;
  #chunk: number;
  /** Bytes from `#start` to the next newline: a line whose beginning has not been read. */
  #partial: Uint8Array = new Uint8Array();
  /** End of a line that is being passed over because it is too long. */
  #overlongTo: number | undefined;

  /** `firstBytes`: the first piece; each later one is twice as large. */
  constructor(source: ByteSource, firstBytes: number = tailChunkBytes) {
    this.#source = source;
    this.#start = source.size;
    this.#chunk = firstBytes;
  }

  get done(): boolean {
    return this.#start === 0;
  }

  /** The lines before those read so far, in the order of the log. */
  async older(): Promise<Logged[]> {
    const end = this.#start;
    const start = Math.max(0, end - this.#chunk);
    const chunk = await this.#source.read({ start, end });
    this.bytesRead += chunk.length;
    this.#chunk *= 2;
    this.#start = start;
    const bytes = joined(chunk, this.#partial);
    const first = start === 0 ? 0 : chunk.indexOf(newline) + 1;
    if (start > 0 && first === 0) {
      this.#hold(bytes);
      return [];
    }
    this.#partial = bytes.slice(0, Math.max(0, first - 1));
    const read: LinesRead = { logged: [], damage: [] };
    this.#read({ bytes: bytes.subarray(first), start: start + first }, read);
    this.damage.unshift(...read.damage);
    return read.logged;
  }

  #hold(bytes: Uint8Array): void {
    const over = bytes.length > lineBytesMax || this.#overlongTo !== undefined;
    if (over) this.#overlongTo ??= this.#start + bytes.length;
    this.#partial = over ? new Uint8Array() : bytes;
  }

  #read(lines: { readonly bytes: Uint8Array; readonly start: number }, into: LinesRead): void {
    const { bytes, start } = lines;
    const atEnd = start + bytes.length === this.#source.size;
    if (this.#overlongTo === undefined) {
      readLines({ bytes, start, last: atEnd }, into);
      return;
    }
    const tailFrom = bytes.lastIndexOf(newline) + 1;
    readLines({ bytes: bytes.subarray(0, tailFrom), start }, into);
    into.damage.push(overlong(start + tailFrom, this.#overlongTo));
    this.#overlongTo = undefined;
  }
}

/** Reads one line again by its place. */
export async function readPlace(source: ByteSource, place: { readonly start: number; readonly end: number }): Promise<Logged | undefined> {
  const read: LinesRead = { logged: [], damage: [] };
  readLine({ bytes: await source.read(place), start: place.start }, read);
  return read.logged[0];
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other;
  if (other.length === 0) return one;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

const overlong = (start: number, end: number): Damage => ({
  kind: "too-long",
  start,
  end,
  detail: `a line of ${end - start} bytes; the limit is ${lineBytesMax}`,
});
