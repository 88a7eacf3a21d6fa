import { expand, type Expanded } from "palimpsest/internal/session/expand";
import { searchSession } from "palimpsest/internal/session/search-session";
import type { Searched } from "palimpsest/internal/ports/session-search";
import { placeOfId } from "palimpsest/internal/transcript/lines";
import type { Original } from "./expanded.ts";
import type { NamedLog } from "./named-log.ts";
import { recalledEntry } from "./recalled-entry.ts";

export interface RecallAsk {
  readonly query: string;
  /** Of the hits, from 1; the first where it is absent. */
  readonly page?: number | undefined;
}

export type Meant =
  | { readonly kind: "id"; readonly expanded: Expanded }
  | { readonly kind: "words"; readonly searched: Searched };

/**
 * An id, where something has it. A few characters that begin one may as well be a word, and are one where it is found;
 * what can only be an id and is none is looked for as it stands: parts of it stand in other ids.
 */
export async function meantBy(log: NamedLog, { query, page = 1 }: RecallAsk): Promise<Meant> {
  const search = async (words: string): Promise<Searched> =>
    await searchSession(log, { source: log.source, query: words, page });
  // No id has a space in it, and looking for one reads the whole log.
  const expanded: Expanded = /\s/.test(query) ? { kind: "not-found" } : await expand(log, log.source, query);
  const orElse = async (words: string): Promise<Meant> => {
    const searched = await search(words);
    return searched.kind === "found" && searched.total > 0 ? { kind: "words", searched } : { kind: "id", expanded };
  };
  if (expanded.kind === "not-found")
    return idForm.test(query) ? await orElse(`"${query}"`) : { kind: "words", searched: await search(query) };
  const isBeginning =
    expanded.kind === "ambiguous" || (expanded.kind === "entry" && recalledEntry(expanded.bytes).id !== query);
  return isBeginning && fewCharacters.test(query) ? await orElse(query) : { kind: "id", expanded };
}

/** Of calls, entries and blobs. */
const idForm = /^(?:toolu_\w+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{64})$/i;
/** Eight is what a list shows of an id. */
const fewCharacters = /^[\da-f]{4,7}$/i;

export interface RecalledText {
  /** Whole, where the query was the beginning of an entry's. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

/** Of an entry what was said in it; of anything else all of it. */
export function recalledText(query: string, original: Original): RecalledText {
  const entry = original.kind === "entry" ? recalledEntry(original.bytes) : undefined;
  return {
    id: entry?.id === undefined || placeOfId(query) !== undefined ? query : entry.id,
    bytes: entry?.text === undefined ? original.bytes : new TextEncoder().encode(entry.text),
  };
}
