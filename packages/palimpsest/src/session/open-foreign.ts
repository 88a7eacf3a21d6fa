import { detectFormat, translateLog } from "../import/detect-format.ts";
import type { ImportDeps, ImportNote, LogFormat } from "../import/importer.ts";
import { headBytes, translatedBytesMax } from "../import/limits.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { Bytes } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import { memoryByteSource } from "../store/memory/memory-byte-source.ts";
import type { SourceMark, HashDep } from "./session-origin.ts";

/** Another tool's file, readable as a log whatever its format. */
type OpenForeignOutcome =
  | {
      readonly kind: "open";
      /** The file itself if it is in Claude Code's format or in an unknown one, else its translation. */
      readonly source: ByteSource;
      readonly format: LogFormat | undefined;
      readonly translated?: ForeignTranslation;
    }
  | { readonly kind: "too-large"; readonly format: LogFormat; readonly size: Bytes; readonly max: Bytes };

export interface ForeignTranslation {
  readonly notes: readonly ImportNote[];
  readonly from: SourceMark;
}

/**
 * Reads only the head, unless the file needs a translation. Takes over the source: if the file is translated or refused,
 * the source is closed.
 */
export async function openForeign(deps: { readonly sha256: HashDep }, source: ByteSource): Promise<OpenForeignOutcome> {
  const head = await source.read({ start: 0, end: Math.min(source.size, headBytes) });
  const format = detectFormat(new TextDecoder().decode(head));
  if (format === undefined || format === "claude-code") return { kind: "open", source, format };
  try {
    if (source.size > translatedBytesMax)
      return { kind: "too-large", format, size: source.size, max: translatedBytesMax };
    return await translateSource(deps, { source, format });
  } finally {
    await source.close();
  }
}

async function translateSource(
  deps: { readonly sha256: HashDep },
  { source, format }: { readonly source: ByteSource; readonly format: LogFormat },
): Promise<OpenForeignOutcome> {
  const data = await source.read({ start: 0, end: source.size });
  const hash = deps.sha256();
  hash.update(data);
  const from = { length: source.size, sha256: hash.digest() };
  const outcome = translateLog({ text: new TextDecoder().decode(data), format, deps: textHash(deps.sha256) });
  if (outcome.kind !== "translated") throw new Error(`no importer for ${format}`);
  const { entries, notes } = outcome;
  return { kind: "open", source: memoryByteSource(encodeLines(entries)), format, translated: { notes, from } };
}

const textHash = (sha256: HashDep): ImportDeps => ({
  sha256: (text) => {
    const hash = sha256();
    hash.update(encoder.encode(text));
    return hash.digest();
  },
});

const encoder = new TextEncoder();

function encodeLines(entries: readonly JsonObject[]): Uint8Array {
  const encoded = entries.map((entry) => encoder.encode(`${JSON.stringify(entry)}\n`));
  const all = new Uint8Array(encoded.reduce((sum, line) => sum + line.byteLength, 0));
  let at = 0;
  for (const line of encoded) {
    all.set(line, at);
    at += line.byteLength;
  }
  return all;
}
