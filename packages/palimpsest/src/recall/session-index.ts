import type { HitNeighbour, SearchHit, SearchOutcome, SearchOptions } from "../ports/session-search.ts";
import type { ToolUseId } from "../schema/brand.ts";
import type { LoggedEntry } from "../transcript/read-lines.ts";
import { callChars, candidatesMax, pageSizeDefault, pageSizeMax, phraseTextsMax, recentCharsMax } from "./limits.ts";
import { splitPassages, Postings, type RankedText, rankTexts, weighTerms, parseQuery, type Query } from "./postings.ts";
import { entryBlobs, type EntryText, readBlobText, entryTexts, type BlobText } from "./entry-texts.ts";
import { findSnippet, lineFactor, neighbourLine, type Snippet } from "./snippet.ts";
import type { Term } from "./term.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteRange } from "../ports/transcripts.ts";

interface SessionIndexOptions {
  /** Keeps only what this query can find. */
  readonly only?: string;
}

/** Its calls and results only repeat other texts: a search that included them would always find itself. */
const echoingTool = "recall";

type IndexedText = Pick<SearchHit, "id" | "kind" | "at" | "call"> &
  Pick<EntryText, "form"> & {
    readonly source: TextPlace["kind"];
    /** Where it stands among the texts of the log. */
    readonly position: number;
  };

/** A text of the log, found by the query or not: one can be the neighbour of a hit. */
interface LoggedText extends Pick<EntryText, "id" | "kind"> {
  readonly toolUse: ToolUseId | undefined;
  readonly place: TextPlace;
  /** Its number among the indexed texts, if it is one of them. */
  readonly number: number | undefined;
}

/**
 * Finds everything that was ever said in one session by its words, whatever the view shows of it. Appending costs in
 * proportion to what is appended, a search in proportion to how often its words occur.
 */
export class SessionIndex {
  readonly #deps: RecentTextsDeps;
  readonly #postings: Postings;
  readonly #texts: RecentTexts;
  readonly #indexed: IndexedText[] = [];
  readonly #logged: LoggedText[] = [];
  /** By the id of a result: its position, also for the blob that is written later. */
  readonly #positionByResult = new Map<SearchHit["id"], number>();
  readonly #callWords = new Map<ToolUseId, string>();
  readonly #echoes = new Set<ToolUseId>();
  /** By the id of a result: where the text is stored that the id returns. */
  readonly #sourceByResult = new Map<SearchHit["id"], TextPlace["kind"]>();

  constructor(deps: RecentTextsDeps, { only }: SessionIndexOptions = {}) {
    this.#deps = deps;
    this.#postings = new Postings(only === undefined ? undefined : new Set(parseQuery(only).terms));
    this.#texts = new RecentTexts(deps);
  }

  /** Entries have to be appended in the order of the log. */
  async append({ entry, start, end }: LoggedEntry): Promise<void> {
    for (const [number, entryText] of entryTexts(entry).entries())
      this.#add({ entryText, at: entry.timestamp, place: { kind: "line", place: { start, end }, number } });
    for (const blob of entryBlobs(entry)) {
      if (this.#sourceByResult.get(blob.id) === "blob") continue;
      const bytes = await this.#deps.blobs.get(blob.blob);
      if (bytes === undefined) continue;
      this.#add({ entryText: readBlobText(blob, bytes), at: entry.timestamp, place: { kind: "blob", blob } });
    }
  }

  async search({ query: written, page = 1, pageSize = pageSizeDefault }: SearchOptions): Promise<SearchOutcome> {
    const query = parseQuery(written);
    if (query.terms.length === 0) return { kind: "no-words" };
    const weights = weighTerms(query, this.#postings);
    const found = rankTexts(this.#postings, weights).filter(({ text }) => !this.#isPreview(text));
    const ranked = bestFirst(this.#withPhrases(found, query));
    const candidates: SearchCandidate[] = [];
    const examined = ranked.slice(0, query.phrases.length > 0 ? phraseTextsMax : candidatesMax);
    for (const rankedText of examined) {
      const candidate = await this.#examine(rankedText, { query, weights });
      if (candidate !== undefined) candidates.push(candidate);
    }
    const hits = mergeHits(bestFirst(candidates));
    const size = Math.min(Math.max(1, pageSize), pageSizeMax);
    const shown = hits.slice((page - 1) * size, page * size);
    return {
      kind: "found",
      hits: await Promise.all(shown.map((hit) => this.#withNeighbours(hit))),
      page,
      pages: Math.ceil(hits.length / size),
      total: ranked.length - (examined.length - candidates.length),
      shown: candidates.length,
    };
  }

  #add({ entryText, at, place }: { entryText: EntryText; at: string | undefined; place: TextPlace }): void {
    const { id, kind, toolUse, tool } = entryText;
    if (toolUse !== undefined && tool === echoingTool) this.#echoes.add(toolUse);
    if (toolUse !== undefined && this.#echoes.has(toolUse)) return;
    const form = kind === "result" ? this.#formOfResult(entryText, place.kind) : entryText.form;
    if (toolUse !== undefined && tool !== undefined)
      this.#callWords.set(toolUse, entryText.text.slice(0, callChars).toWellFormed().replaceAll(/\s+/g, " "));
    const text = this.#indexed.length;
    let kept = 0;
    for (const { from, to } of splitPassages(entryText.text))
      if (this.#postings.add({ within: entryText.text, from, to, text }) === "kept") kept += 1;
    const position = this.#notePosition(entryText, { place, number: kept === 0 ? undefined : text });
    if (kept === 0) return;
    const call = kind === "result" && toolUse !== undefined ? this.#callWords.get(toolUse) : undefined;
    this.#indexed.push({ id, kind, at, call, form, source: place.kind, position });
    this.#texts.add(entryText.text, place);
  }

  /** A blob stands where its result does, not where the edit is that wrote it. */
  #notePosition({ id, kind, toolUse }: EntryText, { place, number }: Pick<LoggedText, "place" | "number">): number {
    const known = kind === "result" ? this.#positionByResult.get(id) : undefined;
    if (known !== undefined) return known;
    const position = this.#logged.length;
    if (kind === "result") this.#positionByResult.set(id, position);
    this.#logged.push({ id, kind, toolUse, place, number });
    return position;
  }

  async #withNeighbours({ text, ...hit }: MergedHit): Promise<SearchHit> {
    const [before, after] = await Promise.all(
      ([-1, 1] as const).map((step) => this.#neighbour(this.#indexed[text], step)),
    );
    return { ...hit, before, after };
  }

  /** The nearest text of another entry. A result names its own call already, and a preview is no text of its own. */
  async #neighbour(hit: IndexedText | undefined, step: -1 | 1): Promise<HitNeighbour | undefined> {
    if (hit === undefined) return undefined;
    for (let at = hit.position + step; ; at += step) {
      const logged = this.#logged[at];
      if (logged === undefined) return undefined;
      const { id, kind, toolUse, place, number } = logged;
      const isOwn = id === hit.id || toolUse === hit.id;
      const isPreview = kind === "result" && this.#sourceByResult.get(id) === "blob";
      if (isOwn || isPreview) continue;
      const text = number === undefined ? await this.#texts.read(place) : await this.#texts.text(number);
      if (text !== undefined && text.trim() !== "") return { id, kind, text: neighbourLine(text) };
    }
  }

  /**
   * The id returns the text of the blob; without a blob, the first text in the log. Offsets in any other text are not
   * offsets in that one.
   */
  #formOfResult({ id, form }: EntryText, source: TextPlace["kind"]): EntryText["form"] {
    const known = this.#sourceByResult.get(id);
    if (known !== "blob") this.#sourceByResult.set(id, source);
    return known === undefined || source === "blob" ? form : "gathered";
  }

  /**
   * Whether this is the log's text of a result that a blob holds whole: it adds nothing, and being short it would
   * outrank the whole.
   */
  #isPreview(text: number): boolean {
    const indexed = this.#indexed[text];
    return indexed?.kind === "result" && indexed.source === "line" && this.#sourceByResult.get(indexed.id) === "blob";
  }

  /** Drops texts that can't contain a phrase. */
  #withPhrases(ranked: readonly RankedText[], { phrases }: Query): readonly RankedText[] {
    const haveRarest = phrases.flatMap(({ terms }) => (terms.length === 0 ? [] : [this.#textsWithRarest(terms)]));
    return ranked.filter(({ text }) => haveRarest.every((texts) => texts.has(text)));
  }

  #textsWithRarest(terms: readonly Term[]): ReadonlySet<number> {
    const postings = terms.map((term) => this.#postings.of(term));
    const rarest = postings.reduce((left, right) => (right.length < left.length ? right : left));
    return new Set(rarest.filter((_, at) => at % 2 === 0).map((passage) => this.#postings.passage(passage).text));
  }

  /** Reads a text again, for its best line. Undefined if a phrase is missing. */
  async #examine(
    { text: number, passage, score }: RankedText,
    { query, weights }: { readonly query: Query; readonly weights: ReadonlyMap<Term, number> },
  ): Promise<SearchCandidate | undefined> {
    const indexed = this.#indexed[number];
    const text = await this.#texts.text(number);
    if (indexed === undefined || text === undefined) return undefined;
    const { phrases } = query;
    const snippet = findSnippet({ text, passage: this.#postings.passage(passage), weights, phrases });
    if (snippet === undefined) return undefined;
    return { text: number, indexed, snippet, score: score * lineFactor(snippet, { query, weights }) };
  }
}

interface SearchCandidate {
  readonly text: number;
  readonly indexed: IndexedText;
  readonly snippet: Snippet;
  readonly score: number;
}

/** Best first; of equal ones, the newest first. */
const bestFirst = <Scored extends Pick<RankedText, "text" | "score">>(scored: readonly Scored[]): readonly Scored[] =>
  scored.toSorted((left, right) => right.score - left.score || right.text - left.text);

type MergedHit = SearchHit & { readonly also: string[]; readonly text: number };

/** Merges hits that show the same line: a file that was read ten times is one hit with ten ids. */
function mergeHits(candidates: readonly SearchCandidate[]): readonly MergedHit[] {
  const byLine = new Map<string, MergedHit>();
  const shown = new Set<SearchHit["id"]>();
  for (const { text, indexed, snippet, score } of candidates) {
    const { id, kind, at, call, form } = indexed;
    // Logs that other tools merged may answer a call twice.
    if (kind === "result" && shown.has(id)) continue;
    shown.add(id);
    const same = byLine.get(snippet.line);
    if (same === undefined) {
      const offset = form === "verbatim" ? snippet.offset : undefined;
      byLine.set(snippet.line, { id, kind, at, call, snippet: snippet.snippet, offset, score, also: [], text });
    } else if (same.id !== id && !same.also.includes(id)) same.also.push(id);
  }
  return [...byLine.values()];
}

export interface RecentTextsDeps extends BlobsDep {
  /** Reads a line of the log again by its place, for a text that is no longer in memory. */
  readonly lineAt: (place: ByteRange) => Promise<LoggedEntry | undefined>;
}

/** Where a text is stored: which text of a line it is, or in which blob. */
type TextPlace =
  | { readonly kind: "line"; readonly place: ByteRange; readonly number: number }
  | { readonly kind: "blob"; readonly blob: BlobText };

/** Texts by number, in the order in which they were added. The newest are kept in memory. */
export class RecentTexts {
  readonly #deps: RecentTextsDeps;
  readonly #charsMax: number;
  readonly #places: TextPlace[] = [];
  readonly #held = new Map<number, string>();
  #chars = 0;

  constructor(deps: RecentTextsDeps, charsMax: number = recentCharsMax) {
    this.#deps = deps;
    this.#charsMax = charsMax;
  }

  add(text: string, place: TextPlace): void {
    this.#held.set(this.#places.length, text);
    this.#places.push(place);
    this.#chars += text.length;
    for (const [oldest, held] of this.#held) {
      if (this.#chars <= this.#charsMax) break;
      this.#chars -= held.length;
      this.#held.delete(oldest);
    }
  }

  /** Undefined if it is gone: a removed blob, a blanked line. */
  async text(number: number): Promise<string | undefined> {
    const held = this.#held.get(number);
    const place = this.#places[number];
    return held ?? (place === undefined ? undefined : await this.read(place));
  }

  /** From the log or the blob, whether it was added or not. */
  async read(at: TextPlace): Promise<string | undefined> {
    switch (at.kind) {
      case "line": {
        const logged = await this.#deps.lineAt(at.place);
        return logged === undefined ? undefined : entryTexts(logged.entry)[at.number]?.text;
      }
      case "blob": {
        const bytes = await this.#deps.blobs.get(at.blob.blob);
        return bytes === undefined ? undefined : readBlobText(at.blob, bytes).text;
      }
    }
  }
}
