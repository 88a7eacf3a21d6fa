import type { SearchHit, SearchOutcome, SearchOptions } from "../ports/session-search.ts";
import type { ToolUseId } from "../schema/brand.ts";
import type { LoggedEntry } from "../transcript/read-lines.ts";
import { RecentTexts, type RecentTextsDeps, type TextPlace } from "./recent-texts.ts";
import { callChars, candidatesMax, pageSizeDefault, pageSizeMax, phraseTextsMax } from "./limits.ts";
import { splitPassages, Postings, type RankedText, rankTexts, weighTerms } from "./postings.ts";
import { flattenText, parseQuery, type Query } from "./query.ts";
import { entryBlobs, type EntryText, readBlobText, entryTexts } from "./entry-texts.ts";
import { type Snippet, findSnippet } from "./snippet.ts";
import type { Term } from "./term.ts";

interface SessionIndexOptions {
  /** For one query: nothing is kept but what it can find. */
  readonly only?: string;
}

/** Its calls and results only repeat what stands elsewhere: a search that took them in would always find itself. */
const echoingTool = "recall";

type IndexedText = Pick<SearchHit, "id" | "kind" | "at" | "call"> &
  Pick<EntryText, "form"> & { readonly source: TextPlace["kind"] };

/**
 * Everything that was ever said in one session, by its words, whatever the view shows of it. Appending costs in
 * proportion to what is appended, a search to how often its words occur.
 */
export class SessionIndex {
  readonly #deps: RecentTextsDeps;
  readonly #postings: Postings;
  readonly #texts: RecentTexts;
  readonly #told: IndexedText[] = [];
  readonly #callWords = new Map<ToolUseId, string>();
  readonly #echoes = new Set<ToolUseId>();
  /** By the id of a result: where the text is that the id gives back. */
  readonly #sourceByResult = new Map<SearchHit["id"], TextPlace["kind"]>();

  constructor(deps: RecentTextsDeps, { only }: SessionIndexOptions = {}) {
    this.#deps = deps;
    this.#postings = new Postings(only === undefined ? undefined : new Set(parseQuery(only).terms));
    this.#texts = new RecentTexts(deps);
  }

  /** In the order of the log. */
  async append({ entry, start, end }: LoggedEntry): Promise<void> {
    for (const [number, said] of entryTexts(entry).entries())
      this.#add({ said, at: entry.timestamp, place: { kind: "line", place: { start, end }, number } });
    for (const blob of entryBlobs(entry)) {
      if (this.#sourceByResult.get(blob.id) === "blob") continue;
      const bytes = await this.#deps.blobs.get(blob.blob);
      if (bytes === undefined) continue;
      this.#add({ said: readBlobText(blob, bytes), at: entry.timestamp, place: { kind: "blob", blob } });
    }
  }

  async search({ query: written, page = 1, pageSize = pageSizeDefault }: SearchOptions): Promise<SearchOutcome> {
    const query = parseQuery(written);
    if (query.terms.length === 0) return { kind: "no-words" };
    const weights = weighTerms(query, this.#postings);
    const found = rankTexts(this.#postings, weights).filter(({ text }) => !this.#isPreview(text));
    const ranked = bestFirst(this.#withPhrases(found, query));
    const candidates: SearchCandidate[] = [];
    const looked = ranked.slice(0, query.phrases.length > 0 ? phraseTextsMax : candidatesMax);
    for (const one of looked) {
      const candidate = await this.#lookedInto(one, { query, weights });
      if (candidate !== undefined) candidates.push(candidate);
    }
    const hits = mergeHits(bestFirst(candidates));
    const size = Math.min(Math.max(1, pageSize), pageSizeMax);
    return {
      kind: "found",
      hits: hits.slice((page - 1) * size, page * size),
      page,
      pages: Math.ceil(hits.length / size),
      total: ranked.length - (looked.length - candidates.length),
      shown: candidates.length,
    };
  }

  #add({ said, at, place }: { said: EntryText; at: string | undefined; place: TextPlace }): void {
    const { id, kind, toolUse, tool } = said;
    if (toolUse !== undefined && tool === echoingTool) this.#echoes.add(toolUse);
    if (toolUse !== undefined && this.#echoes.has(toolUse)) return;
    const form = kind === "result" ? this.#formOfResult(said, place.kind) : said.form;
    if (toolUse !== undefined && tool !== undefined)
      this.#callWords.set(toolUse, said.text.slice(0, callChars).toWellFormed().replaceAll(/\s+/g, " "));
    const text = this.#told.length;
    let kept = 0;
    for (const { from, to } of splitPassages(said.text))
      if (this.#postings.add({ within: said.text, from, to, text }) === "kept") kept += 1;
    if (kept === 0) return;
    const call = kind === "result" && toolUse !== undefined ? this.#callWords.get(toolUse) : undefined;
    this.#told.push({ id, kind, at, call, form, source: place.kind });
    this.#texts.add(said.text, place);
  }

  /** A blob's text is what the id gives back; without one it is the log's first. Places in any other are not places in that. */
  #formOfResult({ id, form }: EntryText, source: TextPlace["kind"]): EntryText["form"] {
    const given = this.#sourceByResult.get(id);
    if (given !== "blob") this.#sourceByResult.set(id, source);
    return given === undefined || source === "blob" ? form : "gathered";
  }

  /** The log's text of a result that a blob holds whole: it says nothing more, and being short it would outrank the whole. */
  #isPreview(text: number): boolean {
    const told = this.#told[text];
    return told?.kind === "result" && told.source === "line" && this.#sourceByResult.get(told.id) === "blob";
  }

  /** Without texts in which a phrase can't be. */
  #withPhrases(ranked: readonly RankedText[], { phrases }: Query): readonly RankedText[] {
    const haveRarest = phrases.flatMap(({ terms }) => (terms.length === 0 ? [] : [this.#textsWithRarest(terms)]));
    return ranked.filter(({ text }) => haveRarest.every((texts) => texts.has(text)));
  }

  #textsWithRarest(terms: readonly Term[]): ReadonlySet<number> {
    const postings = terms.map((term) => this.#postings.of(term));
    const rarest = postings.reduce((one, two) => (two.length < one.length ? two : one));
    return new Set(rarest.filter((_, at) => at % 2 === 0).map((passage) => this.#postings.passage(passage).text));
  }

  /** Looks into a text once more: terms that stand in one line count up to twice, the whole query in one line a third time. Undefined where a phrase is missing. */
  async #lookedInto(
    { text: number, passage, score }: RankedText,
    { query, weights }: { readonly query: Query; readonly weights: ReadonlyMap<Term, number> },
  ): Promise<SearchCandidate | undefined> {
    const told = this.#told[number];
    const text = await this.#texts.text(number);
    if (told === undefined || text === undefined) return undefined;
    const { phrases } = query;
    const snippet = findSnippet({ text, passage: this.#postings.passage(passage), weights, phrases });
    if (snippet === undefined) return undefined;
    const together = snippet.weight / weights.values().reduce((sum, one) => sum + one, 0);
    const whole = flattenText(snippet.line.replaceAll(/["“”]/g, " ")).includes(query.whole) ? 1 : 0;
    return { text: number, told, snippet, score: score * (1 + together + whole) };
  }
}

interface SearchCandidate {
  readonly text: number;
  readonly told: IndexedText;
  readonly snippet: Snippet;
  readonly score: number;
}

/** Best first, of equals the newest. */
const bestFirst = <Scored extends Pick<RankedText, "text" | "score">>(scored: readonly Scored[]): readonly Scored[] =>
  scored.toSorted((one, two) => two.score - one.score || two.text - one.text);

/** Hits that show different lines: a file that was read ten times is one, with ten ids. */
function mergeHits(candidates: readonly SearchCandidate[]): readonly SearchHit[] {
  const byLine = new Map<string, SearchHit & { readonly also: SearchHit["id"][] }>();
  const shown = new Set<SearchHit["id"]>();
  for (const { told, snippet, score } of candidates) {
    const { id, kind, at, call, form } = told;
    // Logs that other tools copied together may answer a call twice.
    if (kind === "result" && shown.has(id)) continue;
    shown.add(id);
    const same = byLine.get(snippet.line);
    if (same === undefined) {
      const offset = form === "verbatim" ? snippet.offset : undefined;
      byLine.set(snippet.line, { id, kind, at, call, snippet: snippet.snippet, offset, score, also: [] });
    } else if (same.id !== id && !same.also.includes(id)) same.also.push(id);
  }
  return [...byLine.values()];
}
