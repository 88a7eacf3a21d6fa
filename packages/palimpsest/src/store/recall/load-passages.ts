import { type SearchTextKind, searchTextKinds } from "../../ports/session-search.ts";
import { decodeChunk, type ChunkCodec, type StoredPassageText } from "./chunk-codec.ts";
import { numberIn, optionalTextIn, type RecallDatabase, type Row, textIn } from "./database.ts";
import type { DocumentTable } from "./document-table.ts";
import { positionsMax } from "./limits.ts";

/** A text as the index has it, without its passages. */
export interface StoredText {
  /** The number of its first passage. */
  readonly id: number;
  readonly passages: number;
  readonly kind: SearchTextKind;
  readonly ref: string;
  readonly at: string | undefined;
  readonly form: "verbatim" | "gathered";
  readonly place: "line" | "blob";
  readonly tool: string | undefined;
  readonly files: readonly string[];
  /** Of a result: the number of the text of its call. */
  readonly called: number | undefined;
}

export interface LoadedPassage extends StoredPassageText {
  readonly number: number;
  readonly within: StoredText;
}

/** Passages with up to `reach` neighbours of the same document on either side, by number, in ascending order. */
export function loadPassages(
  { database, codec, table }: { database: RecallDatabase; codec: ChunkCodec; table: DocumentTable },
  { numbers, reach }: { readonly numbers: readonly number[]; readonly reach: number },
): ReadonlyMap<number, LoadedPassage> {
  const loaded = new Map<number, LoadedPassage>();
  for (const { first, last } of joinRanges(numbers, { reach, table })) {
    const texts = loadTexts(database, { first, last });
    let text = 0;
    for (const row of rowsFrom(database, { table: "chunks", first, last })) {
      const start = numberIn(row, "id");
      const { body } = row;
      if (!(body instanceof Uint8Array)) continue;
      for (const [at, passage] of decodeChunk(codec, body).entries()) {
        const number = start + at;
        if (number < first || number > last) continue;
        while ((texts[text + 1]?.id ?? Infinity) <= number) text += 1;
        const within = texts[text];
        if (within === undefined || within.id > number || number >= within.id + within.passages) continue;
        loaded.set(number, { ...passage, number, within });
      }
    }
  }
  return loaded;
}

interface NumberRange {
  readonly first: number;
  readonly last: number;
}

/** Ranges that overlap or touch are read as one. */
function joinRanges(
  numbers: readonly number[],
  { reach, table }: { readonly reach: number; readonly table: DocumentTable },
): readonly NumberRange[] {
  const ranges: { first: number; last: number }[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const document = Math.floor(number / positionsMax);
    const start = document * positionsMax;
    const end = start + (table.get(document)?.passages ?? positionsMax) - 1;
    const range = { first: Math.max(start, number - reach), last: Math.min(end, number + reach) };
    const before = ranges.at(-1);
    if (before !== undefined && range.first <= before.last + 1) before.last = Math.max(before.last, range.last);
    else ranges.push(range);
  }
  return ranges;
}

/** Those that are found: neither previews nor repeated ones. */
const loadTexts = (database: RecallDatabase, range: NumberRange): readonly StoredText[] =>
  rowsFrom(database, { table: "texts", ...range })
    .filter((row) => textIn(row, "place") !== "hidden" && numberIn(row, "passages") > 0)
    .map((row) => toStoredText(row));

const sqlByTable = {
  chunks:
    "select id, body from chunks where id between coalesce((select max(id) from chunks where id <= ?1), ?1) and ?2 order by id",
  texts:
    "select id, passages, kind, ref, at, form, place, tool, files, called from texts where id between coalesce((select max(id) from texts where id <= ?1), ?1) and ?2 order by id",
} as const;

/** Rows that hold a part of the range: the first one may begin before it. */
const rowsFrom = (
  database: RecallDatabase,
  { table, first, last }: NumberRange & { readonly table: keyof typeof sqlByTable },
): readonly Row[] => database.rows(sqlByTable[table], first, last);

function toStoredText(row: Row): StoredText {
  return {
    id: numberIn(row, "id"),
    passages: numberIn(row, "passages"),
    kind: toKind(textIn(row, "kind")),
    ref: textIn(row, "ref"),
    at: optionalTextIn(row, "at"),
    form: textIn(row, "form") === "verbatim" ? "verbatim" : "gathered",
    place: textIn(row, "place") === "blob" ? "blob" : "line",
    tool: optionalTextIn(row, "tool"),
    files: optionalTextIn(row, "files")?.split("\n") ?? [],
    called: numberIn(row, "called") || undefined,
  };
}

const toKind = (written: string): SearchTextKind => searchTextKinds.find((kind) => kind === written) ?? "reply";

/** What the calls of results did, in a few words, by the number of the call's text. */
export function loadCalls(database: RecallDatabase, texts: Iterable<StoredText>): ReadonlyMap<number, string> {
  const calls = new Map<number, string>();
  for (const { called } of texts) {
    if (called === undefined || calls.has(called)) continue;
    calls.set(called, textIn(database.row("select call from texts where id = ?", called), "call"));
  }
  return calls;
}
