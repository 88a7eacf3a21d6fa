import type { Blobs, BlobsDep } from "../ports/blobs.ts";
import type { OpenedDocument, RecallBatch, RecallDocument, RecallSource, RecallText } from "../ports/recall-index.ts";
import type { SessionListDep } from "../ports/store.ts";
import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import { entryBlobs, entryTexts, readBlobText } from "../recall/entry-texts.ts";
import { sessionId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { isArray, type Json } from "../schema/json.ts";
import { expand } from "./expand.ts";
import { markedBytesMax, namedFilesMax, namedPathCharsMax } from "./limits.ts";
import { scanForward } from "./scan-lines.ts";

/** Our own sessions of a project, with everything that they ever held. */
export function sessionSource(deps: TranscriptsDep & BlobsDep & SessionListDep): RecallSource {
  return {
    name: "session",
    list: async () => {
      const sessions = await deps.sessions.list();
      return sessions.map(({ sessionId: id, summary, firstPrompt, sizeBytes, modified }): RecallDocument => ({
        key: id,
        session: id,
        title: summary ?? (firstPrompt === "" ? undefined : firstPrompt),
        version: `${sizeBytes} ${modified}`,
        size: sizeBytes,
        modified,
      }));
    },
    open: async (key) => {
      const source = await deps.transcripts.openForReading(sessionId(key));
      return source === undefined ? undefined : openLogDocument({ key, source, blobs: deps.blobs });
    },
  };
}

/** One log, which only grows. `open` gives undefined if there is none. */
export function logSource({
  open,
  blobs,
}: BlobsDep & { readonly open: () => Promise<ByteSource | undefined> }): RecallSource {
  return {
    name: "session",
    list: async () => {
      const source = await open();
      if (source === undefined) return [];
      const { size } = source;
      await source.close();
      return [oneDocument(size)];
    },
    open: async (key) => {
      const source = await open();
      return source === undefined ? undefined : openLogDocument({ key, source, blobs });
    },
  };
}

/** Entries that are in memory, without blobs; the list may grow. */
export const entriesSource = (entries: readonly Entry[]): RecallSource => ({
  name: "session",
  list: async () => [oneDocument(entries.length)],
  open: async (key) => ({
    key,
    mark: async (end) => String(end),
    read: async function* (from) {
      for (const [at, entry] of entries.slice(from).entries()) yield { texts: lineTexts(entry), end: from + at + 1 };
    },
    expand: async () => undefined,
    close: async () => {},
  }),
});

const oneDocument = (size: number): RecallDocument => ({
  key: "log",
  session: "log",
  title: undefined,
  version: String(size),
  size,
  modified: "",
});

/** A log in the ecosystem's format, of any agent. Closes the source when it is closed. */
export function openLogDocument({
  key,
  source,
  blobs,
}: {
  readonly key: string;
  readonly source: ByteSource;
  readonly blobs: Blobs;
}): OpenedDocument {
  return {
    key,
    mark: async (end) => {
      const last = Math.min(end, source.size);
      return hashBytes(await source.read({ start: Math.max(0, last - markedBytesMax), end: last }), last);
    },
    read: (from) => readTexts({ source, blobs, from }),
    expand: async (id) => {
      const found = await expand({ blobs }, source, id);
      if (!("bytes" in found)) return undefined;
      const form = found.kind === "result" && found.form === "json" ? "json" : undefined;
      return { kind: found.kind, bytes: found.bytes, form };
    },
    close: () => source.close(),
  };
}

async function* readTexts({
  source,
  blobs,
  from,
}: {
  readonly source: ByteSource;
  readonly blobs: Blobs;
  readonly from: number;
}): AsyncGenerator<RecallBatch> {
  for await (const { logged } of scanForward(source, { from })) {
    for (const { entry, end } of logged) {
      const texts = lineTexts(entry);
      for (const blob of entryBlobs(entry)) {
        const bytes = await blobs.get(blob.blob);
        if (bytes !== undefined) texts.push({ ...readBlobText(blob, bytes), at: entry.timestamp, from: "blob" });
      }
      // The newline may not be written yet: the next read begins behind it all the same.
      yield { texts, end: end + 1 };
    }
  }
}

const lineTexts = (entry: Entry): RecallText[] =>
  entryTexts(entry).map((text) => ({
    ...text,
    at: entry.timestamp,
    from: "line",
    files: text.toolUse === undefined || text.tool === undefined ? undefined : namedFiles(entry, text.toolUse),
  }));

/** Inputs of tools that name files, in the words of all agents whose logs are read. */
const fileKey = /^(?:file_?path|path|file|file_?name|notebook_path|target_file|files|paths)$/i;

function namedFiles(entry: Entry, toolUse: string): readonly string[] {
  if (entry.kind !== "assistant") return [];
  const call = entry.blocks.find((block) => block.type === "tool_use" && block.id === toolUse);
  if (call?.type !== "tool_use") return [];
  return Object.entries(call.input)
    .filter(([key]) => fileKey.test(key))
    .flatMap(([, value]) => textsIn(value))
    .filter((path) => path !== "" && path.length <= namedPathCharsMax && !path.includes("\n"))
    .slice(0, namedFilesMax);
}

const textsIn = (value: Json): readonly string[] =>
  typeof value === "string" ? [value] : isArray(value) ? value.flatMap((item) => textsIn(item)) : [];

/** FNV-1a in two halves: enough to see that bytes changed, and no Node module. */
function hashBytes(bytes: Uint8Array, seed: number): string {
  let low = 0x81_1c_9d_c5 ^ seed;
  let high = 0x9e_37_79_b1 ^ seed;
  for (const byte of bytes) {
    low = Math.imul(low ^ byte, 0x01_00_01_93);
    high = Math.imul(high ^ byte, 0x85_eb_ca_6b);
  }
  return `${(low >>> 0).toString(36)}-${(high >>> 0).toString(36)}`;
}
