import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { isBlobId, type BlobId, toolUseId } from "../schema/brand.ts";
import { type LineBytes, type Logged, readLines, placeOfId } from "../transcript/lines.ts";
import { scanLines } from "./scan.ts";

/** The original behind an id, byte for byte. */
export type Expanded =
  | { readonly kind: "entry"; readonly bytes: Uint8Array }
  | { readonly kind: "result"; readonly bytes: Uint8Array }
  | { readonly kind: "blob"; readonly bytes: Uint8Array }
  | { readonly kind: "not-found" }
  /** A call that nothing answered. */
  | { readonly kind: "unanswered" }
  /** The log names the blob that holds it, and the blob is gone. */
  | { readonly kind: "blob-missing"; readonly blob: BlobId };

/**
 * An entry's uuid gives its line as it stands in the log; a call's id its result as the tool returned it (text as text,
 * blocks as JSON); a blob's id the blob. Only lines that hold the id are parsed, in bounded memory.
 */
export async function expand(deps: BlobsDep, source: ByteSource, id: string): Promise<Expanded> {
  if (isBlobId(id)) {
    const blob = await deps.blobs.get(id);
    if (blob !== undefined) return { kind: "blob", bytes: blob };
  }
  const place = placeOfId(id);
  if (place !== undefined && place.end <= source.size) return { kind: "entry", bytes: await source.read(place) };
  const found = await search(source, id);
  if (found.line !== undefined) return { kind: "entry", bytes: await source.read(found.line) };
  if (found.blob !== undefined) {
    const bytes = await deps.blobs.get(found.blob);
    return bytes === undefined ? { kind: "blob-missing", blob: found.blob } : { kind: "result", bytes };
  }
  if (found.result !== undefined) return { kind: "result", bytes: found.result };
  return { kind: found.called === true ? "unanswered" : "not-found" };
}

interface Found {
  line?: Logged;
  result?: Uint8Array;
  blob?: BlobId | undefined;
  called?: boolean;
}

async function search(source: ByteSource, id: string): Promise<Found> {
  const found: Found = {};
  for await (const logged of linesHolding(source, id)) {
    const { entry } = logged;
    if (entry.id === id) found.line ??= logged;
    if (entry.kind === "user") {
      for (const block of entry.blocks) {
        if (block.type !== "tool_result" || block.tool_use_id !== toolUseId(id)) continue;
        found.result ??= new TextEncoder().encode(
          typeof block.content === "string" ? block.content : JSON.stringify(block.content ?? []),
        );
      }
    }
    if (entry.kind === "assistant")
      found.called ||= entry.blocks.some((block) => block.type === "tool_use" && block.id === id);
    if (entry.kind === "edit" && (entry.edit.type === "offload" || entry.edit.type === "clear")) {
      found.blob ??= entry.edit.results.find((result) => result.toolUse === id)?.blob;
    }
  }
  return found;
}

const newline = 0x0a;

async function* linesHolding(source: ByteSource, id: string): AsyncGenerator<Logged> {
  // An empty needle is found everywhere and nowhere.
  if (id === "") return;
  const needle = Buffer.from(JSON.stringify(id).slice(1, -1));
  for await (const lines of scanLines(source)) if (lines.kind === "lines") yield* holding(lines, needle);
}

function* holding(lines: LineBytes, needle: Buffer): Generator<Logged> {
  const { start } = lines;
  const bytes = Buffer.from(lines.bytes.buffer, lines.bytes.byteOffset, lines.bytes.byteLength);
  for (let hit = bytes.indexOf(needle); hit !== -1;) {
    const from = bytes.lastIndexOf(newline, hit) + 1;
    const found = bytes.indexOf(newline, hit);
    const to = found === -1 ? bytes.length : found;
    yield* readLines({ bytes: bytes.subarray(from, to), start: start + from }).logged;
    hit = bytes.indexOf(needle, to);
  }
}
