import { isObject, type JsonObject, parseJson } from "../schema/json.ts";

type Read<Found> = (entry: JsonObject) => Found | undefined;

/**
 * Lines that are decoded and parsed only when somebody looks at them: a list looks at a few of each transcript, and
 * thousands of transcripts pass through it. `key` is a quoted word without which `read` finds nothing; lines that do
 * not contain it are passed over as bytes.
 */
export class LazyEntries {
  readonly #lines: readonly Buffer[];
  readonly #entryByLine = new Map<number, JsonObject | undefined>();

  constructor(lines: readonly Buffer[]) {
    this.#lines = lines;
  }

  first<Found>(key: string, read: Read<Found>): Found | undefined {
    for (let index = 0; index < this.#lines.length; index += 1) {
      const found = this.#readAt({ index, key, read });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  last<Found>(key: string, read: Read<Found>): Found | undefined {
    for (let index = this.#lines.length - 1; index >= 0; index -= 1) {
      const found = this.#readAt({ index, key, read });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  count(key: string, matches: (entry: JsonObject) => boolean): number {
    let count = 0;
    for (let index = 0; index < this.#lines.length; index += 1) {
      if (this.#readAt({ index, key, read: (entry) => matches(entry) || undefined }) === true) count += 1;
    }
    return count;
  }

  #readAt<Found>(look: { index: number; key: string; read: Read<Found> }): Found | undefined {
    const line = this.#lines[look.index];
    if (line === undefined || !line.includes(`"${look.key}"`)) return undefined;
    if (!this.#entryByLine.has(look.index)) this.#entryByLine.set(look.index, objectIn(line.toString("utf8")));
    const entry = this.#entryByLine.get(look.index);
    return entry === undefined ? undefined : look.read(entry);
  }
}

/** Lines that do not parse are passed over: damage is reported by whoever opens the transcript, a list must come out all the same. */
function objectIn(line: string): JsonObject | undefined {
  try {
    const value = parseJson(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Views into the chunk, nothing is copied. */
export function linesIn(chunk: Uint8Array): readonly Buffer[] {
  const data = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const lines: Buffer[] = [];
  for (let start = 0; start <= data.byteLength;) {
    const newline = data.indexOf(0x0a, start);
    const end = newline === -1 ? data.byteLength : newline;
    lines.push(data.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
