import type { RecallOptions } from "../../ports/recall-index.ts";
import type { RankedPassage } from "../../ports/ranker.ts";
import type { SearchHit, SearchOutcome } from "../../ports/session-search.ts";
import { candidatesMax, pageSizeDefault, pageSizeMax, queryTermsMax } from "../../recall/limits.ts";
import { parseQuery, type Query } from "../../recall/parse-query.ts";
import { findSnippet, lineFactor, type Snippet } from "../../recall/snippet.ts";
import { queryStems } from "../../recall/stem.ts";
import { eachTerm, type Term } from "../../recall/term.ts";
import { entryId, toolUseId } from "../../schema/brand.ts";
import type { DocumentRow, DocumentTable, WordCount } from "./document-table.ts";
import { countWords, findPassages, type FoundPassage, resolveScope, type SearchScope } from "./find-passages.ts";
import { checkedMax, countedMax, foundMax, neighboursMax, positionsMax } from "./limits.ts";
import { findNewest } from "./find-newest.ts";
import { loadNeighbours } from "./load-neighbours.ts";
import { loadCalls, loadPassages, type LoadedPassage, type StoredText } from "./load-passages.ts";
import { termToken } from "./prepare-text.ts";
import { type CheckedPassages, loadedStems, rankLoaded, type SearchIndexDeps } from "./rank-loaded.ts";

/** Rarest words → best passages → their neighbours → ranking → best line of each text → equal lines as one hit. */
export async function searchIndex(
  deps: SearchIndexDeps,
  { query: written, page = 1, pageSize = pageSizeDefault, ...filters }: RecallOptions,
): Promise<SearchOutcome> {
  const query = parseQuery(written);
  const isList = written.trim() === "" && Object.values(filters).some((filter) => filter !== undefined);
  if (query.terms.length === 0 && !isList) return { kind: "no-words" };
  const scope = isList ? undefined : resolveScope(deps.table, filters);
  const found = isList
    ? listed(findNewest(deps, filters))
    : scope === undefined
      ? noneFound
      : await examine(deps, { query, scope, filters });
  const hits = mergeHits(deps, found.candidates);
  const size = Math.min(Math.max(1, pageSize), pageSizeMax);
  return {
    kind: "found",
    hits: hits.slice((page - 1) * size, page * size).map((hit) => finishHit(deps, hit)),
    page,
    pages: Math.ceil(hits.length / size),
    total: Math.max(found.total, found.candidates.length),
    shown: found.candidates.length,
  };
}

interface Examined {
  readonly candidates: readonly ExaminedText[];
  readonly total: number;
}

const noneFound: Examined = { candidates: [], total: 0 };

interface ExaminedText {
  readonly text: StoredText;
  readonly best: LoadedPassage;
  readonly snippet: Snippet;
  readonly score: number;
}

interface Examination {
  readonly query: Query;
  readonly scope: SearchScope;
  readonly filters: Omit<RecallOptions, "query">;
}

/** Each shown by its beginning. */
function listed(newest: readonly LoadedPassage[]): Examined {
  const candidates = newest.map((best) => {
    const { text } = best;
    const passage = { from: text.length - text.trimStart().length, to: text.length };
    const found = findSnippet({ text, passage, weights: new Map(), phrases: [] });
    const snippet = found ?? { snippet: "", line: "", offset: 0, weight: 0 };
    return { text: best.within, best, snippet, score: 0 };
  });
  return { candidates, total: candidates.length };
}

async function examine(deps: SearchIndexDeps, { query, scope, filters }: Examination): Promise<Examined> {
  const { database, table } = deps;
  const counts = countWords(database, { query, table, scope });
  const isChecked = query.phrases.length > 0 || filters.after !== undefined || filters.before !== undefined;
  const matching = findPassages(database, {
    counts,
    phrases: query.phrases,
    scope,
    limit: isChecked ? checkedMax : countedMax,
  });
  const checked = checkPassages(deps, { query, filters, found: matching });
  if (checked.found.length === 0) return noneFound;
  const weights = weighTerms(query, { counts, passages: passagesIn(table, scope) });
  const ranked = await rankLoaded(deps, { query, counts, weights, ...checked });
  const found = new Set(checked.found.map(({ number }) => number));
  const words = { terms: weights, stems: new Set(queryStems(query.whole)) };
  const mayBeHit = (passage: LoadedPassage): boolean =>
    found.has(passage.number) || (isWithin(passage.within, filters) && hasWord(passage, words));
  const candidates = bestByText(ranked, { loaded: checked.loaded, mayBeHit })
    .flatMap(({ passage, score }) => {
      const window = textWindow(passage, checked.loaded);
      const snippet = findSnippet({ ...window, weights, phrases: query.phrases });
      if (snippet === undefined) return [];
      const lifted = deps.ranker === undefined ? score * lineFactor(snippet, { query, weights }) : score;
      const placed = { ...snippet, offset: snippet.offset + window.start };
      return [{ text: passage.within, best: passage, snippet: placed, score: lifted }];
    })
    .toSorted((left, right) => right.score - left.score || newerFirst(left, right));
  const more = Math.max(0, matching.length - checked.looked);
  return { candidates, total: candidates.length + more };
}

const newerFirst = (left: ExaminedText, right: ExaminedText): number =>
  (right.text.at ?? "").localeCompare(left.text.at ?? "") || right.text.id - left.text.id;

/** Reads passages, best first, until enough of them have the phrases and lie in the times. */
function checkPassages(
  deps: SearchIndexDeps,
  {
    query,
    filters,
    found,
  }: { readonly query: Query; readonly filters: Examination["filters"]; readonly found: readonly FoundPassage[] },
): CheckedPassages {
  const loaded = new Map<number, LoadedPassage>();
  const passed: FoundPassage[] = [];
  let looked = 0;
  while (looked < found.length && passed.length < foundMax) {
    const part = found.slice(looked, looked + foundMax);
    looked += part.length;
    const numbers = part.map(({ number }) => number);
    for (const [number, passage] of loadPassages(deps, { numbers, reach: neighboursMax })) loaded.set(number, passage);
    for (const candidate of part) {
      const passage = loaded.get(candidate.number);
      if (passage !== undefined && isWithin(passage.within, filters) && hasPhrases(passage, { query, loaded }))
        passed.push(candidate);
    }
  }
  return { found: passed.slice(0, foundMax), loaded, looked };
}

/** Whether a neighbour may be a hit itself. */
function hasWord(
  passage: LoadedPassage,
  { terms, stems }: { readonly terms: ReadonlyMap<Term, number>; readonly stems: ReadonlySet<string> },
): boolean {
  if (loadedStems(passage).some((stem) => stems.has(stem))) return true;
  let found = 0;
  eachTerm({ text: passage.text }, (term) => {
    if (terms.has(term)) found += 1;
  });
  return found > 0;
}

function isWithin({ at, files, kind, tool }: StoredText, filters: Examination["filters"]): boolean {
  const { after, before, file } = filters;
  if (filters.kind !== undefined && kind !== filters.kind) return false;
  if (filters.tool !== undefined && tool?.toLowerCase() !== filters.tool.toLowerCase()) return false;
  if (after !== undefined && (at === undefined || at < after)) return false;
  if (before !== undefined && (at === undefined || at >= before)) return false;
  return file === undefined || files.some((path) => path.toLowerCase().includes(file.toLowerCase()));
}

function hasPhrases(
  passage: LoadedPassage,
  { query, loaded }: { readonly query: Query; readonly loaded: ReadonlyMap<number, LoadedPassage> },
): boolean {
  if (query.phrases.length === 0) return true;
  const { text } = textWindow(passage, loaded);
  return query.phrases.every(({ form }) => form.test(text));
}

/** A passage with the ones before and after it in the same text: a phrase or a snippet may cross a border. */
function textWindow(
  passage: LoadedPassage,
  loaded: ReadonlyMap<number, LoadedPassage>,
): { readonly text: string; readonly start: number; readonly passage: { readonly from: number; readonly to: number } } {
  const isSame = (other: LoadedPassage | undefined): other is LoadedPassage => other?.within.id === passage.within.id;
  const before = loaded.get(passage.number - 1);
  const after = loaded.get(passage.number + 1);
  const head = isSame(before) ? before.text : "";
  const tail = isSame(after) ? after.text : "";
  return {
    text: head + passage.text + tail,
    start: passage.from - head.length,
    passage: { from: head.length, to: head.length + passage.text.length },
  };
}

const passagesIn = (table: DocumentTable, { first, last, documents }: SearchScope): number => {
  const named = documents === undefined ? undefined : new Set(documents);
  return table.rows
    .filter(({ id }) => id * positionsMax >= first && id * positionsMax <= last && (named?.has(id) ?? true))
    .reduce((sum, { passages }) => sum + passages, 0);
};

/** The rarer a term, the higher its weight. Of many terms only the rarest that occur at all count. */
function weighTerms(
  query: Query,
  { counts, passages }: { readonly counts: readonly WordCount[]; readonly passages: number },
): ReadonlyMap<Term, number> {
  const countByToken = new Map(
    counts.flatMap((word) => (word.column === "terms" ? [[word.token, word.passages]] : [])),
  );
  const weighed = query.terms.map((term): readonly [Term, number, number] => {
    const count = countByToken.get(termToken(term)) ?? 0;
    return [term, Math.log(1 + (Math.max(0, passages - count) + 0.5) / (count + 0.5)), count];
  });
  const kept =
    weighed.length <= queryTermsMax
      ? weighed
      : weighed
          .filter(([, , count]) => count > 0)
          .toSorted(([, left], [, right]) => right - left)
          .slice(0, queryTermsMax);
  return new Map(kept.map(([term, weight]) => [term, weight]));
}

interface BestPassage {
  readonly passage: LoadedPassage;
  readonly score: number;
}

/** The best texts by their best passages, best first; of equal passages of a text, by the first. */
function bestByText(
  ranked: readonly RankedPassage[],
  {
    loaded,
    mayBeHit,
  }: {
    readonly loaded: ReadonlyMap<number, LoadedPassage>;
    readonly mayBeHit: (passage: LoadedPassage) => boolean;
  },
): readonly BestPassage[] {
  const best = new Map<number, BestPassage>();
  for (const { key, score } of ranked.toSorted((left, right) => right.score - left.score)) {
    const passage = loaded.get(key);
    if (passage === undefined || !mayBeHit(passage)) continue;
    const known = best.get(passage.within.id);
    const isBetter = known === undefined ? best.size < candidatesMax : isEqualAndFirst({ passage, score }, known);
    if (isBetter) best.set(passage.within.id, { passage, score });
  }
  return [...best.values()];
}

const isEqualAndFirst = (one: BestPassage, known: BestPassage): boolean =>
  one.score === known.score && one.passage.number < known.passage.number;

type MergedHit = SearchHit & { readonly text: StoredText };

interface SessionText extends ExaminedText {
  readonly document: DocumentRow;
}

/** Merges hits that show the same line: a file that was read ten times is one hit with ten ids. */
function mergeHits({ table }: SearchIndexDeps, candidates: readonly ExaminedText[]): readonly MergedHit[] {
  const byLine = new Map<string, SessionText[]>();
  const shown = new Set<string>();
  for (const candidate of candidates) {
    const { text, best, snippet } = candidate;
    const document = table.get(Math.floor(best.number / positionsMax));
    if (document === undefined) continue;
    const full = fullId({ text, document });
    // Logs that other tools merged may answer a call twice.
    if (text.kind === "result" && shown.has(full)) continue;
    shown.add(full);
    const same = byLine.get(snippet.line);
    if (same === undefined) byLine.set(snippet.line, [{ ...candidate, document }]);
    else same.push({ ...candidate, document });
  }
  return [...byLine.values()].flatMap(mergeTexts);
}

/** Where the best one stands, the newest of its kind stands for all: what was read again is as it was read last. */
function mergeTexts(texts: readonly SessionText[]): readonly MergedHit[] {
  const [best] = texts;
  const isLike = ({ text, document }: SessionText): boolean =>
    document === best?.document && text.kind === best.text.kind;
  const [newest] = texts.filter(isLike).toSorted(newerFirst);
  if (best === undefined || newest === undefined) return [];
  const { text, document, snippet } = newest;
  const { ref, kind, at, form, tool, files } = text;
  const others = texts
    .filter((other) => other.document.session !== document.session || other.text.ref !== ref)
    .map((other) => (other.document.session === document.session ? other.text.ref : fullId(other)));
  return [
    {
      id: kind === "result" ? toolUseId(ref) : entryId(ref),
      kind,
      at,
      call: undefined,
      snippet: snippet.snippet,
      offset: form === "verbatim" ? snippet.offset : undefined,
      score: best.score,
      also: [...new Set(others)],
      tool,
      files: files.length === 0 ? undefined : files,
      session: { id: document.session, title: document.title, source: document.source, place: newest.best.number },
      text,
    },
  ];
}

/** A memory is its own session. */
const fullId = ({ text: { ref }, document: { session } }: Pick<SessionText, "text" | "document">): string =>
  session === ref ? ref : `${session}/${ref}`;

function finishHit(deps: SearchIndexDeps, { text, ...hit }: MergedHit): SearchHit {
  return { ...hit, call: loadCalls(deps.database, [text]).get(text.called ?? 0), ...loadNeighbours(deps, text) };
}
