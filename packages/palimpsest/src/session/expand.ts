import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { ResultContent } from "../schema/block.ts";
import { isBlobId, type BlobId, type EntryId, toolUseId } from "../schema/brand.ts";
import { type LineBytes, type LoggedEntry, readLines, parsePlaceId } from "../transcript/read-lines.ts";
import { newline, scanLines } from "./scan-lines.ts";

/** The original behind an id, byte for byte. */
export type ExpandOutcome =
  | { readonly kind: "entry"; readonly bytes: Uint8Array }
  | { readonly kind: "result"; readonly bytes: Uint8Array; readonly form: ResultForm }
  | { readonly kind: "blob"; readonly bytes: Uint8Array }
  | { readonly kind: "not-found" }
  /** Several entries have a uuid that begins with the id. */
  | { readonly kind: "ambiguous"; readonly candidates: readonly EntryId[] }
  /** The id is of a call that has no result. */
  | { readonly kind: "unanswered" }
  /** The log names the blob that holds the original, but the blob is gone. */
  | { readonly kind: "blob-missing"; readonly blob: BlobId };

/** `json`: the bytes are a list of blocks. A text may look like one without being one. */
type ResultForm = "text" | "json";

/**
 * Finds the original behind an id:
 *
 *   an entry's uuid, or a unique prefix of one    the entry's line as it is in the log
 *   a call's id                                   the result as the tool returned it: text as text, blocks as JSON
 *   a blob's id                                   the blob
 *
 * Only lines that contain the id are parsed, in bounded memory.
 */
export async function expand(deps: BlobsDep, source: ByteSource, id: string): Promise<ExpandOutcome> {
  if (isBlobId(id)) {
    const blob = await deps.blobs.get(id);
    if (blob !== undefined) return { kind: "blob", bytes: blob };
  }
  const place = parsePlaceId(id);
  if (place !== undefined && place.end <= source.size) return { kind: "entry", bytes: await source.read(place) };
  const found = await search(source, id);
  if (found.line !== undefined) return { kind: "entry", bytes: await source.read(found.line) };
  if (found.blob !== undefined) {
    const { blob, form } = found.blob;
    const bytes = await deps.blobs.get(blob);
    return bytes === undefined ? { kind: "blob-missing", blob } : { kind: "result", bytes, form };
  }
  if (found.result !== undefined) return { kind: "result", ...found.result };
  if (found.called === true) return { kind: "unanswered" };
  const [only, ...others] = found.byPrefix.values();
  if (only === undefined) return { kind: "not-found" };
  if (others.length > 0) return { kind: "ambiguous", candidates: [...found.byPrefix.keys()] };
  return { kind: "entry", bytes: await source.read(only) };
}

interface SearchState {
  line?: LoggedEntry;
  result?: { readonly bytes: Uint8Array; readonly form: ResultForm };
  blob?: { readonly blob: BlobId; readonly form: ResultForm } | undefined;
  called?: boolean;
  /** Entries whose uuid begins with the id. */
  readonly byPrefix: Map<EntryId, LoggedEntry>;
}

/**
 * A shorter prefix is more likely a typo than an id, and occurs in too many lines by chance. Ids that are not uuids must
 * be given whole.
 */
const uuidPrefix = /^[\da-f]{4,8}$|^[\da-f]{8}-[\da-f-]*$/i;

async function search(source: ByteSource, id: string): Promise<SearchState> {
  const found: SearchState = { byPrefix: new Map() };
  for await (const logged of scanForId(source, id)) {
    const { entry } = logged;
    if (entry.id === id) found.line ??= logged;
    else if (entry.id?.startsWith(id) === true && uuidPrefix.test(id) && !found.byPrefix.has(entry.id))
      found.byPrefix.set(entry.id, logged);
    if (entry.kind === "user") {
      for (const block of entry.blocks) {
        if (block.type !== "tool_result" || block.tool_use_id !== toolUseId(id)) continue;
        found.result ??= resultBytes(block.content ?? []);
      }
    }
    if (entry.kind === "assistant")
      found.called ||= entry.blocks.some((block) => block.type === "tool_use" && block.id === id);
    if (entry.kind === "edit" && (entry.edit.type === "offload" || entry.edit.type === "clear")) {
      const { blob, media: form = "text" } = entry.edit.results.find(({ toolUse }) => toolUse === id) ?? {};
      if (blob !== undefined) found.blob ??= { blob, form };
    }
  }
  return found;
}

const resultBytes = (content: ResultContent): NonNullable<SearchState["result"]> =>
  typeof content === "string"
    ? { bytes: new TextEncoder().encode(content), form: "text" }
    : { bytes: new TextEncoder().encode(JSON.stringify(content)), form: "json" };

async function* scanForId(source: ByteSource, id: string): AsyncGenerator<LoggedEntry> {
  // An empty needle would match everywhere without end.
  if (id === "") return;
  const needle = Buffer.from(JSON.stringify(id).slice(1, -1));
  for await (const lines of scanLines(source)) if (lines.kind === "lines") yield* matchLines(lines, needle);
}

function* matchLines(lines: LineBytes, needle: Buffer): Generator<LoggedEntry> {
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
