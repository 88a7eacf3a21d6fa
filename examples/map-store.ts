import { createHash } from "node:crypto";
import {
  type AdoptedCopy,
  blobId,
  type Blobs,
  type ByteRange,
  bytes,
  type OpenForWritingOutcome,
  type SessionId,
  type Store,
  type Transcripts,
  type TranscriptWriter,
} from "palimpsest";

/** A complete store over one map: anything that keeps bytes under a key can replace the map. */
export function mapStore(map = new Map<string, Uint8Array>()): Store {
  const open = { kind: "open", transcripts: new MapTranscripts(map), blobs: mapBlobs(map) } as const;
  return { open: () => Promise.resolve(open) };
}

/** An append is one `set`, so no line is ever torn. It copies the log: a real store appends to what it has. */
class MapTranscripts implements Transcripts {
  readonly #map: Map<string, Uint8Array>;
  readonly #writing = new Set<SessionId>();

  constructor(map: Map<string, Uint8Array>) {
    this.#map = map;
  }

  async create(id: SessionId): Promise<OpenForWritingOutcome> {
    return this.#begin(id, { log: new Uint8Array(), made: "here" });
  }

  async openForWriting(id: SessionId): Promise<OpenForWritingOutcome> {
    if (!this.#map.has(logKey(id))) return { kind: "missing" };
    if (this.#writing.has(id)) return { kind: "busy", holder: "another writer of this store" };
    return this.#open(id, "before");
  }

  async openForReading(id: SessionId) {
    const log = this.#map.get(logKey(id));
    if (log === undefined) return undefined;
    const read = async ({ start, end }: ByteRange) => log.slice(start, end);
    return { size: bytes(log.length), read, close: async () => undefined };
  }

  async adopt({ id, originLine, source, length }: AdoptedCopy): Promise<OpenForWritingOutcome> {
    const parts = [encoded(`${originLine}\n`)];
    for (let start = 0; start < length; start += copiedBytes) {
      const end = Math.min(start + copiedBytes, length);
      const part = await source.read({ start, end });
      if (part.length < end - start) return { kind: "failed", why: "io", message: "The copied log ends too early." };
      parts.push(part);
    }
    if (parts.at(-1)?.at(-1) !== newline) parts.push(Uint8Array.of(newline));
    return this.#begin(id, { log: Buffer.concat(parts), made: "before" });
  }

  #begin(id: SessionId, { log, made }: { readonly log: Uint8Array; readonly made: Made }): OpenForWritingOutcome {
    if (this.#map.has(logKey(id))) return { kind: "exists" };
    this.#map.set(logKey(id), log);
    return this.#open(id, made);
  }

  #open(id: SessionId, made: Made): OpenForWritingOutcome {
    this.#writing.add(id);
    return { kind: "open", writer: this.#writer(id, made), setAside: undefined };
  }

  #writer(id: SessionId, made: Made): TranscriptWriter {
    let state: "open" | "closed" = "open";
    const log = (): Uint8Array => {
      if (state === "closed") throw new TypeError(`the writer of ${id} is closed`);
      return this.#map.get(logKey(id)) ?? new Uint8Array();
    };
    const close = async () => {
      if (state === "open") this.#writing.delete(id);
      state = "closed";
    };
    return {
      id,
      append: async (lines) => {
        if (lines.some((line) => line.includes("\n"))) throw new TypeError("a line must not contain a newline");
        let whole = log();
        const at = lines.map((line) => {
          const start = bytes(whole.length);
          whole = Buffer.concat([whole, encoded(`${line}\n`)]);
          return start;
        });
        this.#map.set(logKey(id), whole);
        return { kind: "appended", at };
      },
      endTurn: async () => ({ kind: "appended", at: [] }),
      blank: async (ranges) => {
        const changed = Uint8Array.from(log());
        const setAside = ranges.map(({ start, end }) => {
          const kept = `aside/${id}/${start}-${end}`;
          this.#map.set(kept, changed.slice(start, end));
          changed.fill(space, start, end);
          return { start: bytes(start), end: bytes(end), kept };
        });
        this.#map.set(logKey(id), changed);
        return { kind: "blanked", setAside };
      },
      close,
      discard: async () => {
        if (state === "open" && made === "here") this.#map.delete(logKey(id));
        await close();
      },
    };
  }
}

/** Copied with `from`, because a Buffer's `slice` shares its memory with the caller. */
const mapBlobs = (map: Map<string, Uint8Array>): Blobs => ({
  put: async (data) => {
    const id = blobId(createHash("sha256").update(data).digest("hex"));
    map.set(`blob/${id}`, Uint8Array.from(data));
    return { kind: "stored", id };
  },
  get: async (id) => map.get(`blob/${id}`)?.slice(),
  list: async () =>
    [...map.keys()]
      .filter((key) => key.startsWith("blob/"))
      .map((key) => blobId(key.slice("blob/".length)))
      .toSorted(),
});

/** `here`: by the writer, which may take it away again. */
type Made = "here" | "before";

const logKey = (id: SessionId): string => `log/${id}`;
const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);
const copiedBytes = 1024 * 1024;
const newline = 0x0a;
const space = 0x20;
