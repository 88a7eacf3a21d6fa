import type { RecallDocument } from "../../ports/recall-index.ts";
import { callChars } from "../../recall/limits.ts";
import { numberIn, optionalTextIn, type RecallDatabase, textIn } from "./database.ts";
import { chunkCharsMax, positionsMax } from "./limits.ts";
import { type ChunkCodec, encodeChunk } from "./chunk-codec.ts";
import { facetTokens, type PreparedPassage, type PreparedText, tokenize } from "./prepare-text.ts";

/** How far a document is indexed. */
export interface IndexedDocument {
  readonly id: number;
  readonly version: string;
  /** The `end` of the last batch. */
  readonly indexed: number;
  readonly mark: string;
  /** The next position. */
  readonly passages: number;
}

export function readDocument(
  database: RecallDatabase,
  { source, key }: { readonly source: string; readonly key: string },
): IndexedDocument | undefined {
  const row = database.row(
    "select id, version, indexed, mark, passages from documents where source = ? and key = ?",
    source,
    key,
  );
  if (row === undefined) return undefined;
  return {
    id: numberIn(row, "id"),
    version: textIn(row, "version"),
    indexed: numberIn(row, "indexed"),
    mark: textIn(row, "mark"),
    passages: numberIn(row, "passages"),
  };
}

export interface TextsToWrite {
  readonly source: string;
  readonly document: RecallDocument;
  readonly texts: readonly PreparedText[];
  readonly end: number;
  readonly mark: string;
  /** `part`: more of the document follows, so its version is not reached yet. */
  readonly extent: "whole" | "part";
}

/**
 * Writes the next texts of one document. It knows from the texts before which tool a result belongs to, which results only
 * repeat others and which are previews; after a restart it asks the index.
 */
export class DocumentWriter {
  readonly #database: RecallDatabase;
  readonly #codec: ChunkCodec;
  readonly #id: number;
  #position: number;
  readonly #callByUse = new Map<string, Call | undefined>();
  /** Where the original of a result stands. */
  #placeByResult: Map<string, "line" | "blob"> | undefined;
  /** Whether all that the index has of the document was written by this writer, which then need not ask. */
  readonly #isFresh: boolean;
  #chunk: { readonly first: number; readonly passages: PreparedPassage[]; chars: number } | undefined;

  constructor(database: RecallDatabase, { codec, document }: { codec: ChunkCodec; document: IndexedDocument }) {
    this.#database = database;
    this.#codec = codec;
    this.#id = document.id;
    this.#position = document.passages;
    this.#isFresh = document.passages === 0;
  }

  /**
   * Inside a transaction. Returns the number of passages. `overtaken`: another process has written to the document, because
   * this one was stopped for longer than its lease.
   */
  write({ document, texts, end, mark, extent }: TextsToWrite): number | "overtaken" {
    const row = this.#database.row("select passages from documents where id = ?", this.#id);
    if (row === undefined || numberIn(row, "passages") !== this.#position) return "overtaken";
    const first = this.#position;
    const sum = { chars: 0, terms: 0, stems: 0, capped: 0 };
    for (const text of texts) {
      if (!this.#add(text)) continue;
      for (const { text: passage, termCount, stemCount } of text.passages) {
        sum.chars += passage.length;
        sum.terms += termCount;
        sum.stems += stemCount;
        sum.capped += Math.min(stemCount, cappedStemsMax);
      }
    }
    this.#flushChunk();
    const times = texts.flatMap(({ at }) => at ?? []).toSorted();
    this.#database.run(
      `update documents set session = ?, title = coalesce(?, title), modified = ?, version = ?, indexed = ?, mark = ?,
         passages = ?, chars = chars + ?, terms = terms + ?, stems = stems + ?, capped = capped + ?,
         since = min(coalesce(since, ?), ?), until = max(coalesce(until, ?), ?) where id = ?`,
      document.session,
      document.title ?? null,
      document.modified,
      extent === "whole" ? document.version : "",
      end,
      mark,
      this.#position,
      sum.chars,
      sum.terms,
      sum.stems,
      sum.capped,
      times[0] ?? document.modified,
      times[0] ?? document.modified,
      times.at(-1) ?? document.modified,
      times.at(-1) ?? document.modified,
      this.#id,
    );
    return this.#position - first;
  }

  #add(text: PreparedText): boolean {
    const { kind, toolUse, tool, passages } = text;
    if (tool !== undefined && toolUse !== undefined) this.#noteCall(text, toolUse);
    const call = toolUse === undefined ? undefined : this.#callFor(toolUse);
    if (call?.tool === echoingTool) {
      if (kind === "call") this.#insertText({ ...text, passages: [] }, { call, form: "gathered" });
      return false;
    }
    if (this.#position + passages.length > positionsMax) return false;
    const form = kind === "result" ? this.#formOfResult(text) : text.form;
    if (form === "covered") return false;
    if (passages.every(({ termCount }) => termCount === 0)) return false;
    const id = this.#insertText(text, { call, form });
    const facets = facetTokens({ kind, tool: call?.tool, files: call?.files }).join(" ");
    for (const [at, passage] of passages.entries()) {
      // What a file contains rarely says its path: a result is found by the words of its call too, at its beginning.
      const called = at === 0 && kind === "result" && call !== undefined ? ` ${tokenize(call.words)}` : "";
      this.#database.run(
        "insert into words (rowid, terms, stems, facets) values (?, ?, ?, ?)",
        id + at,
        passage.terms + called,
        passage.stems,
        facets,
      );
      this.#addToChunk(id + at, passage);
    }
    this.#position += passages.length;
    return true;
  }

  #insertText(
    { kind, id: ref, at, from, toolUse, passages }: PreparedText,
    { call, form }: { readonly call: Call | undefined; readonly form: PreparedText["form"] },
  ): number {
    // A text without passages takes a position too, because its row needs a number.
    const id = this.#id * positionsMax + this.#position;
    const isCall = kind === "call";
    this.#database.run(
      `insert into texts (id, passages, kind, ref, at, form, place, use, tool, call, files, called)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      passages.length,
      kind,
      ref,
      at ?? null,
      form,
      from,
      isCall ? (toolUse ?? null) : null,
      call?.tool ?? null,
      isCall ? (call?.words ?? null) : null,
      call?.files === undefined || call.files.length === 0 ? null : call.files.join("\n"),
      isCall ? null : (call?.id ?? null),
    );
    if (passages.length === 0) this.#position += 1;
    return id;
  }

  #noteCall({ tool, files, passages }: PreparedText, toolUse: string): void {
    const words = (passages[0]?.text ?? "").slice(0, callChars).toWellFormed().replaceAll(/\s+/g, " ");
    this.#callByUse.set(toolUse, { id: this.#id * positionsMax + this.#position, tool, words, files: files ?? [] });
  }

  #callFor(toolUse: string): Call | undefined {
    if (this.#isFresh || this.#callByUse.has(toolUse)) return this.#callByUse.get(toolUse);
    const row = this.#database.row(
      "select id, tool, call, files from texts where id between ? and ? and use = ? order by id desc limit 1",
      ...this.#range(),
      toolUse,
    );
    const call: Call | undefined = row && {
      id: numberIn(row, "id"),
      tool: optionalTextIn(row, "tool"),
      words: textIn(row, "call"),
      files: optionalTextIn(row, "files")?.split("\n") ?? [],
    };
    this.#callByUse.set(toolUse, call);
    return call;
  }

  /**
   * The id returns the text of the blob; without a blob, the first text in the log. Offsets in any other text are not
   * offsets in that one. The log's preview of a text that a blob holds whole is no longer found.
   */
  #formOfResult({ id, form, from }: PreparedText): PreparedText["form"] | "covered" {
    const places = (this.#placeByResult ??= this.#writtenPlaces());
    const known = places.get(id);
    if (known === "blob") return "covered";
    places.set(id, from);
    if (from === "blob" && known === "line") this.#hidePreview(id);
    return known === undefined || from === "blob" ? form : "gathered";
  }

  /** All at once: nothing is sorted by these ids, so asking for one costs as much. */
  #writtenPlaces(): Map<string, "line" | "blob"> {
    const places = new Map<string, "line" | "blob">();
    if (this.#isFresh) return places;
    const rows = this.#database.rows(
      "select ref, place from texts where id between ? and ? and kind = 'result'",
      ...this.#range(),
    );
    for (const row of rows) {
      const ref = textIn(row, "ref");
      if (places.get(ref) !== "blob") places.set(ref, textIn(row, "place") === "blob" ? "blob" : "line");
    }
    return places;
  }

  #hidePreview(ref: string): void {
    const previews = this.#database.rows(
      "select id, passages from texts where id between ? and ? and ref = ? and kind = 'result'",
      ...this.#range(),
      ref,
    );
    for (const row of previews) {
      const id = numberIn(row, "id");
      this.#database.run("delete from words where rowid between ? and ?", id, id + numberIn(row, "passages") - 1);
      this.#database.run("update texts set place = 'hidden' where id = ?", id);
    }
  }

  #range(): readonly [number, number] {
    return [this.#id * positionsMax, (this.#id + 1) * positionsMax - 1];
  }

  #addToChunk(number: number, passage: PreparedPassage): void {
    const isNext = this.#chunk !== undefined && this.#chunk.first + this.#chunk.passages.length === number;
    if (!isNext || (this.#chunk?.chars ?? 0) + passage.text.length > chunkCharsMax) this.#flushChunk();
    this.#chunk ??= { first: number, passages: [], chars: 0 };
    this.#chunk.passages.push(passage);
    this.#chunk.chars += passage.text.length;
  }

  #flushChunk(): void {
    const chunk = this.#chunk;
    if (chunk === undefined) return;
    const body = encodeChunk(this.#codec, chunk.passages);
    this.#database.run(
      "insert into chunks (id, passages, body) values (?, ?, ?)",
      chunk.first,
      chunk.passages.length,
      body,
    );
    this.#chunk = undefined;
  }
}

interface Call {
  /** The number of its text. */
  readonly id: number;
  readonly tool: string | undefined;
  readonly words: string;
  readonly files: readonly string[];
}

/** Its calls and results only repeat other texts: a search that included them would always find itself. */
const echoingTool = "recall";

/** As the ranker counts the stems of a neighbour. */
const cappedStemsMax = 15;

export function addDocument(
  database: RecallDatabase,
  { source, document }: Pick<TextsToWrite, "source" | "document">,
): IndexedDocument {
  const row = database.row(
    `insert into documents (source, key, session, title, version, modified, indexed, mark, passages, chars, terms, stems, capped)
       values (?, ?, ?, ?, '', ?, 0, '', 0, 0, 0, 0, 0) returning id`,
    source,
    document.key,
    document.session,
    document.title ?? null,
    document.modified,
  );
  return { id: numberIn(row, "id"), version: "", indexed: 0, mark: "", passages: 0 };
}

/** Counts a document as indexed in this version, with what was written of it before. */
export function noteVersion(
  database: RecallDatabase,
  { source, document }: Pick<TextsToWrite, "source" | "document">,
): void {
  const { id } = readDocument(database, { source, key: document.key }) ?? addDocument(database, { source, document });
  database.run("update documents set version = ? where id = ?", document.version, id);
}
