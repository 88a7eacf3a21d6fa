import { bm25, type Bm25Setting, type CountedDocument } from "../../packages/palimpsest/src/recall/bm25.ts";
import { neighbourStemsMax, windowReach } from "../../packages/palimpsest/src/recall/limits.ts";
import {
  type CountedSession,
  passageSetting,
  rankSessions,
  type RankedSession,
  scoreSession,
} from "../../packages/palimpsest/src/recall/rank-sessions.ts";
import { queryStems } from "../../packages/palimpsest/src/recall/stem.ts";
import { collectTerms, eachTerm, type Term } from "../../packages/palimpsest/src/recall/term.ts";
import type { Candidate, Collection, Field, Passage, RankRequest } from "../../packages/palimpsest/src/ports/ranker.ts";

/** Which passages are ranked at all. */
export interface Plan {
  readonly name: string;
  /** Only the rarest words of the query find passages; all of them rank. */
  readonly rarest: number;
  /** The best by BM25, to which their neighbours are added. Infinity: every passage is ranked. */
  readonly found: number;
}

export const everyPassage: Plan = { name: "every passage ranked", rarest: Infinity, found: Infinity };

/** Where candidates come from: statistics in memory here, an index elsewhere. */
export interface CandidateSource {
  find(query: string, plan: Plan): Promise<Omit<RankRequest, "query" | "now" | "profile">>;
  /** Absent if the source ranks no sessions. */
  rankSessions?(query: string, now: string | undefined): Promise<readonly RankedSession[]>;
}

/** As SQLite's `bm25()` has it. */
const sqliteSetting: Bm25Setting = { saturation: 1.2, lengthShare: 0.75 };

/** Finds by stems; in sessions with tools also by terms. */
export class MemorySource implements CandidateSource {
  readonly collection: Collection;
  readonly #passages: readonly Passage[];
  readonly #everyPassage: readonly Candidate[];
  readonly #stems: WordTable<string>;
  readonly #terms: WordTable<Term> | undefined;
  readonly #sessions: ReadonlyMap<string, SessionCounts>;

  constructor(passages: readonly Passage[]) {
    this.#passages = passages;
    this.#everyPassage = passages.map((passage) => ({ ...passage, role: "found" }));
    this.#stems = new WordTable(passages.map(({ stems }) => stems));
    this.#terms = passages.some(({ speaker }) => speaker === "tool")
      ? new WordTable(passages.map(passageTerms))
      : undefined;
    this.#sessions = countSessions(passages);
    this.collection = {
      passages: this.#stems.field,
      cappedStems: sum(passages.map(({ stems }) => Math.min(neighbourStemsMax, stems.length))),
      sessions: fieldFrom([...this.#sessions.values()].map(({ whole }) => whole)),
      userSessions: fieldFrom([...this.#sessions.values()].map(({ user }) => user)),
      terms: this.#terms?.field,
    };
  }

  async find(query: string, { rarest, found }: Plan): ReturnType<CandidateSource["find"]> {
    const stems = queryStems(query);
    const { collection } = this;
    const sessionScores = new Map(
      [...this.#sessions.values()].map(({ session, whole }) => [
        session,
        scoreSession(pickCounts(whole, stems), collection.sessions),
      ]),
    );
    if (found === Infinity) return { candidates: this.#everyPassage, collection, sessionScores };
    const numbers = [
      ...this.#stems.best(stems, { rarest, found }),
      ...(this.#terms?.best(collectTerms(query), { rarest, found }) ?? []),
    ];
    return { candidates: this.#withNeighbours(numbers), collection, sessionScores };
  }

  async rankSessions(query: string, now: string | undefined): Promise<readonly RankedSession[]> {
    const stems = queryStems(query);
    const passageScores = this.#stems.score(stems, passageSetting);
    const scoresBySession = Map.groupBy(passageScores.keys(), (number) => this.#passages[number]?.session);
    const sessions = [...this.#sessions.values()].map(({ session, at, whole, user }): CountedSession => ({
      session,
      at,
      whole: pickCounts(whole, stems),
      user: pickCounts(user, stems),
      passageScores: (scoresBySession.get(session) ?? []).map((number) => passageScores.get(number) ?? 0),
    }));
    return rankSessions({ query, now, sessions, collection: this.collection });
  }

  /** Keys of passages by their own stems alone, best first. */
  rankPlain(query: string, setting: Bm25Setting): readonly number[] {
    return sortScores(this.#stems.score(queryStems(query), setting)).map((number) => this.#passages[number]?.key ?? -1);
  }

  #withNeighbours(found: readonly number[]): readonly Candidate[] {
    const roleByNumber = new Map<number, Candidate["role"]>();
    for (const number of found)
      for (let near = number - windowReach; near <= number + windowReach; near += 1)
        if (this.#passages[near]?.session === this.#passages[number]?.session && !roleByNumber.has(near))
          roleByNumber.set(near, "neighbour");
    for (const number of found) roleByNumber.set(number, "found");
    return [...roleByNumber].flatMap(([number, role]) => {
      const passage = this.#passages[number];
      return passage === undefined ? [] : [{ ...passage, role }];
    });
  }
}

function passageTerms({ call, text }: Passage): readonly Term[] {
  const terms: Term[] = [];
  eachTerm({ text: call === undefined ? text : `${call}\n${text}` }, (term) => terms.push(term));
  return terms;
}

/** Which documents have a word, and how often. */
class WordTable<Word extends string | number> {
  readonly field: Field<Word>;
  readonly #countsByWord = new Map<Word, Map<number, number>>();
  readonly #lengths: readonly number[];

  constructor(documents: readonly (readonly Word[])[]) {
    this.#lengths = documents.map((words) => words.length);
    for (const [number, words] of documents.entries())
      for (const word of words) {
        const counts = this.#countsByWord.get(word) ?? new Map<number, number>();
        this.#countsByWord.set(word, counts);
        counts.set(number, (counts.get(number) ?? 0) + 1);
      }
    this.field = {
      documents: documents.length,
      words: sum(this.#lengths),
      documentsWith: (word) => this.#countsByWord.get(word)?.size ?? 0,
    };
  }

  score(words: readonly Word[], setting: Bm25Setting): ReadonlyMap<number, number> {
    const scores = new Map<number, number>();
    for (const word of words)
      for (const [number, count] of this.#countsByWord.get(word) ?? []) {
        const document = { length: this.#lengths[number] ?? 0, countByWord: new Map([[word, count]]) };
        scores.set(number, (scores.get(number) ?? 0) + bm25(document, { field: this.field, setting }));
      }
    return scores;
  }

  best(words: readonly Word[], { rarest, found }: Pick<Plan, "rarest" | "found">): readonly number[] {
    const chosen = words
      .filter((word) => this.#countsByWord.has(word))
      .toSorted((left, right) => this.field.documentsWith(left) - this.field.documentsWith(right))
      .slice(0, rarest);
    return sortScores(this.score(chosen, sqliteSetting)).slice(0, found);
  }
}

const sortScores = (scores: ReadonlyMap<number, number>): readonly number[] =>
  [...scores].toSorted(([left, one], [right, other]) => other - one || left - right).map(([number]) => number);

interface SessionCounts {
  readonly session: string;
  readonly at: string | undefined;
  readonly whole: GrowingDocument;
  readonly user: GrowingDocument;
}

interface GrowingDocument {
  length: number;
  readonly countByWord: Map<string, number>;
}

const emptyDocument = (): GrowingDocument => ({ length: 0, countByWord: new Map() });

function countSessions(passages: readonly Passage[]): ReadonlyMap<string, SessionCounts> {
  const sessions = new Map<string, SessionCounts>();
  for (const { session, at, speaker, stems } of passages) {
    const counts = sessions.get(session) ?? { session, at, whole: emptyDocument(), user: emptyDocument() };
    sessions.set(session, counts);
    for (const document of speaker === "user" ? [counts.whole, counts.user] : [counts.whole]) {
      document.length += stems.length;
      for (const stem of stems) document.countByWord.set(stem, (document.countByWord.get(stem) ?? 0) + 1);
    }
  }
  return sessions;
}

function fieldFrom(documents: readonly CountedDocument[]): Field {
  const documentsWith = new Map<string, number>();
  for (const { countByWord } of documents)
    for (const word of countByWord.keys()) documentsWith.set(word, (documentsWith.get(word) ?? 0) + 1);
  return {
    documents: documents.length,
    words: sum(documents.map(({ length }) => length)),
    documentsWith: (word) => documentsWith.get(word) ?? 0,
  };
}

function pickCounts({ length, countByWord }: CountedDocument, stems: readonly string[]): CountedDocument {
  return { length, countByWord: new Map(stems.map((stem) => [stem, countByWord.get(stem) ?? 0])) };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
