import type { RecallFilters } from "../../ports/recall-index.ts";
import type { Phrase, Query } from "../../recall/parse-query.ts";
import { queryStems } from "../../recall/stem.ts";
import { collectTerms } from "../../recall/term.ts";
import { numberIn, type RecallDatabase } from "./database.ts";
import type { DocumentTable, WordCount } from "./document-table.ts";
import {
  countedWordsMax,
  documentWordsMax,
  positionsMax,
  postingsSampleMax,
  searchedPostingsMax,
  searchedWordsMax,
} from "./limits.ts";
import { fileTokens, kindToken, termToken, toolToken } from "./prepare-text.ts";

export interface FoundPassage {
  readonly number: number;
  /** Of SQLite's BM25, the higher the better. */
  readonly score: number;
}

/** The part of the index that is searched: the passages from `first` to `last`, of these documents, with these facets. */
export interface SearchScope {
  readonly first: number;
  readonly last: number;
  /** Undefined: all between `first` and `last`. */
  readonly documents: readonly number[] | undefined;
  readonly facets: readonly string[];
}

/** Undefined if no document can have a hit. */
export function resolveScope(table: DocumentTable, filters: RecallFilters): SearchScope | undefined {
  const { kind, tool, file } = filters;
  const facets = [
    ...(kind === undefined ? [] : [kindToken(kind)]),
    ...(tool === undefined ? [] : [toolToken(tool)]),
    ...(file === undefined ? [] : fileTokens(file)),
  ];
  const documents = table.matching(filters);
  const [first] = documents;
  const last = documents.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const isAll = documents.length === table.size || last - first + 1 === documents.length;
  return {
    first: first * positionsMax,
    last: (last + 1) * positionsMax - 1,
    documents: isAll ? undefined : documents,
    facets,
  };
}

interface CountInput {
  readonly table: DocumentTable;
  readonly scope: SearchScope;
}

/** Of every word of the query. Costs a bounded number of postings for each. */
export function countWords(
  database: RecallDatabase,
  { query, ...input }: CountInput & { readonly query: Query },
): readonly WordCount[] {
  const { countByWord } = input.table;
  const count = (column: WordCount["column"], token: string): WordCount => {
    const key = `${column}:${token} ${input.scope.first} ${input.scope.last}`;
    const known = countByWord.get(key);
    if (known !== undefined) return known;
    const counted = countWord(database, { ...input, column, token });
    if (countByWord.size >= countedWordsMax) countByWord.clear();
    countByWord.set(key, counted);
    return counted;
  };
  return [
    ...query.terms.map((term) => count("terms", termToken(term))),
    ...queryStems(query.whole).map((stem) => count("stems", stem)),
  ];
}

function countWord(
  database: RecallDatabase,
  { table, scope, column, token }: CountInput & Pick<WordCount, "column" | "token">,
): WordCount {
  const rows = database.rows(
    `select ${column === "stems" ? "number >> 24" : "0"} as document, count(*) as passages, min(number) as lowest from
       (select rowid as number from words where words match ? and rowid between ? and ? order by rowid desc limit ?)
       group by 1`,
    `${column}:${token}`,
    scope.first,
    scope.last,
    postingsSampleMax,
  );
  const byDocument = new Map(rows.map((row) => [numberIn(row, "document"), numberIn(row, "passages")]));
  const sum = byDocument.values().reduce((total, passages) => total + passages, 0);
  const lowest = rows.reduce((low, row) => Math.min(low, numberIn(row, "lowest")), Infinity);
  const passages = sum < postingsSampleMax ? sum : Math.round(sum / table.shareFrom(lowest, scope));
  return { column, token, passages, byDocument };
}

/**
 * The best passages with any of the rarest words. Common words would cost more than all the rest and distinguish nothing;
 * in the ranking that follows they count again.
 */
export function findPassages(
  database: RecallDatabase,
  {
    counts,
    phrases,
    scope,
    limit,
  }: {
    readonly counts: readonly WordCount[];
    readonly phrases: readonly Phrase[];
    readonly scope: SearchScope;
    readonly limit: number;
  },
): readonly FoundPassage[] {
  const searched = rarestWords(counts, isOneDocument(scope) ? documentWordsMax : searchedWordsMax);
  if (searched.length === 0) return [];
  const words = searched.map(({ column, token }) => `${column}:${token}`).join(" OR ");
  const required = [
    ...phrases.flatMap((phrase) => rarestPiece(phrase, counts)),
    ...scope.facets.map((facet) => `facets:${facet}`),
  ];
  const match = [`(${words})`, ...required].join(" AND ");
  const within = scope.documents === undefined ? "" : "and (rowid >> 24) in (select value from json_each(?))";
  const rows = database.rows(
    `select rowid as number, -rank as score from words where words match ? and rowid between ? and ? ${within}
       order by rank limit ?`,
    match,
    lowestNumber(database, { word: searched[0], scope }),
    scope.last,
    ...(scope.documents === undefined ? [] : [JSON.stringify(scope.documents)]),
    limit,
  );
  return rows.map((row) => ({ number: numberIn(row, "number"), score: numberIn(row, "score") }));
}

const isOneDocument = ({ first, last }: SearchScope): boolean => last - first < positionsMax;

function rarestWords(counts: readonly WordCount[], wordsMax: number): readonly WordCount[] {
  const occurring = counts.filter(({ passages }) => passages > 0).toSorted((a, b) => a.passages - b.passages);
  const searched: WordCount[] = [];
  let postings = 0;
  for (const word of occurring.slice(0, wordsMax)) {
    postings += word.passages;
    if (searched.length > 0 && postings > searchedPostingsMax) break;
    searched.push(word);
  }
  return searched;
}

/** If even the rarest word is everywhere, only the newest part of the index is searched. */
function lowestNumber(
  database: RecallDatabase,
  { word, scope }: { readonly word: WordCount | undefined; readonly scope: SearchScope },
): number {
  if (word === undefined || word.passages <= searchedPostingsMax) return scope.first;
  const row = database.row(
    "select rowid as number from words where words match ? and rowid between ? and ? order by rowid desc limit 1 offset ?",
    `${word.column}:${word.token}`,
    scope.first,
    scope.last,
    searchedPostingsMax,
  );
  return row === undefined ? scope.first : numberIn(row, "number");
}

/** A word that every passage with the phrase has, or its neighbour. Joined words count apart: the phrase may cut a longer name. */
function rarestPiece({ source }: Phrase, counts: readonly WordCount[]): readonly string[] {
  const countByToken = new Map(
    counts.flatMap(({ column, token, passages }) => (column === "terms" ? [[token, passages] as const] : [])),
  );
  const tokens = source.split(/[^\p{L}\p{M}\p{N}_]+/u).flatMap((piece) => collectTerms(piece).map(termToken));
  const known = tokens.flatMap((token) => {
    const passages = countByToken.get(token);
    return passages === undefined ? [] : [{ token, passages }];
  });
  const [rarest] = known.toSorted((a, b) => a.passages - b.passages);
  return rarest === undefined ? [] : [`terms:${rarest.token}`];
}
