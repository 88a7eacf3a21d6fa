import type { Candidate, Collection, RankedPassage, Ranker } from "../../ports/ranker.ts";
import type { Query } from "../../recall/parse-query.ts";
import { scoreSession } from "../../recall/rank-sessions.ts";
import { passageStems } from "../../recall/stem.ts";
import { eachTerm, type Term } from "../../recall/term.ts";
import type { ChunkCodec } from "./chunk-codec.ts";
import type { RecallDatabase } from "./database.ts";
import type { DocumentTable, WordCount } from "./document-table.ts";
import type { FoundPassage } from "./find-passages.ts";
import { neighboursMax, positionsMax, rankedMax } from "./limits.ts";
import { loadCalls, type LoadedPassage } from "./load-passages.ts";
import { speakerByKind, termToken } from "./prepare-text.ts";

export interface SearchIndexDeps {
  readonly database: RecallDatabase;
  readonly codec: ChunkCodec;
  readonly table: DocumentTable;
  readonly ranker: Ranker | undefined;
}

export interface CheckedPassages {
  /** Those that pass the phrases and the times. */
  readonly found: readonly FoundPassage[];
  /** These with their neighbours. */
  readonly loaded: ReadonlyMap<number, LoadedPassage>;
  /** How many were read. */
  readonly looked: number;
}

export interface RankInput extends CheckedPassages {
  readonly query: Query;
  readonly counts: readonly WordCount[];
  readonly weights: ReadonlyMap<Term, number>;
}

/** Orders the found passages and their neighbours, best first. */
export async function rankLoaded(deps: SearchIndexDeps, input: RankInput): Promise<readonly RankedPassage[]> {
  const { ranker, table } = deps;
  if (ranker === undefined) return rankByTerms(deps, input);
  const found = new Set(input.found.slice(0, rankedMax).map(({ number }) => number));
  const isNear = (number: number): boolean => {
    for (let distance = -neighboursMax; distance <= neighboursMax; distance += 1)
      if (found.has(number + distance)) return true;
    return false;
  };
  const candidates: Candidate[] = [];
  const calls = loadCalls(
    deps.database,
    input.loaded.values().map(({ within }) => within),
  );
  for (const passage of input.loaded.values()) {
    const { number, within, text } = passage;
    if (!isNear(number)) continue;
    const speaker = speakerByKind[within.kind];
    candidates.push({
      key: number,
      session: sessionKey(table, number),
      position: number % positionsMax,
      speaker,
      kind: within.kind,
      at: within.at,
      text,
      call: calls.get(within.called ?? 0),
      stems: loadedStems(passage),
      role: found.has(number) ? "found" : "neighbour",
    });
  }
  const collection = collectionFrom(table, input.counts);
  const ranked = await ranker.rank({
    query: input.query.whole,
    candidates,
    collection,
    sessionScores: scoreSessions(table, { counts: input.counts, collection }),
  });
  const lowest = ranked.at(-1)?.score ?? 0;
  const others = input.found.slice(rankedMax).map(({ number }, at) => ({ key: number, score: lowest - 1 - at }));
  return [...ranked, ...others];
}

/** Computed once a search: the ranking and the choice of hits both need them. */
export function loadedStems(passage: LoadedPassage): string[] {
  const known = stemsByPassage.get(passage);
  if (known !== undefined) return known;
  const stems = passageStems({ speaker: speakerByKind[passage.within.kind], text: passage.text });
  stemsByPassage.set(passage, stems);
  return stems;
}

const stemsByPassage = new WeakMap<LoadedPassage, string[]>();

/** Logs of one session have positions of their own, so each counts as a conversation. */
const sessionKey = (table: DocumentTable, number: number): string => {
  const document = table.get(Math.floor(number / positionsMax));
  return document === undefined ? "" : `${document.source}/${document.key}`;
};

/** BM25 over the terms of the found passages. */
function rankByTerms({ table }: SearchIndexDeps, { found, loaded, weights }: RankInput): readonly RankedPassage[] {
  const passages = table.sum("passages");
  const mean = passages === 0 ? 1 : Math.max(1, table.sum("terms") / passages);
  return found.flatMap(({ number, score }) => {
    const passage = loaded.get(number);
    if (passage === undefined) return [];
    const counts = new Map<Term, number>();
    let length = 0;
    eachTerm({ text: passage.text }, (term) => {
      length += 1;
      if (weights.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
    });
    let sum = 0;
    for (const [term, count] of counts)
      sum += ((weights.get(term) ?? 0) * count * 2.2) / (count + 1.2 * (0.7 + (0.3 * length) / mean));
    // A passage that has only the stems comes after those that have the words.
    return [{ key: number, score: sum > 0 ? sum : Math.min(0.01, Math.abs(score) / 1_000) }];
  });
}

function collectionFrom(table: DocumentTable, counts: readonly WordCount[]): Collection {
  const passages = table.sum("passages");
  const stems = new Map(counts.flatMap((word) => (word.column === "stems" ? [[word.token, word]] : [])));
  const terms = new Map(counts.flatMap((word) => (word.column === "terms" ? [[word.token, word.passages]] : [])));
  const sessions = {
    documents: table.size,
    words: table.sum("stems"),
    documentsWith: (stem: string) => stems.get(stem)?.byDocument.size ?? 0,
  };
  return {
    passages: {
      documents: passages,
      words: table.sum("stems"),
      documentsWith: (stem) => stems.get(stem)?.passages ?? 0,
    },
    cappedStems: table.sum("capped"),
    sessions,
    userSessions: sessions,
    terms: {
      documents: passages,
      words: table.sum("terms"),
      documentsWith: (term) => terms.get(termToken(term)) ?? 0,
    },
  };
}

/** How often a session has a stem is not stored: the number of its passages with it stands for it. */
function scoreSessions(
  table: DocumentTable,
  { counts, collection }: { readonly counts: readonly WordCount[]; readonly collection: Collection },
): ReadonlyMap<string, number> {
  const wordsByDocument = new Map<number, Map<string, number>>();
  for (const { column, token, byDocument } of counts) {
    if (column !== "stems") continue;
    for (const [document, passages] of byDocument) {
      const words = wordsByDocument.get(document);
      if (words === undefined) wordsByDocument.set(document, new Map([[token, passages]]));
      else words.set(token, passages);
    }
  }
  return new Map(
    wordsByDocument.entries().flatMap(([id, countByWord]) => {
      const document = table.get(id);
      if (document === undefined) return [];
      const score = scoreSession({ length: document.stems, countByWord }, collection.sessions);
      return [[`${document.source}/${document.key}`, score] as const];
    }),
  );
}
