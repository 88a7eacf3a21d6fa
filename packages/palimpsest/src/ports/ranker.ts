/**
 * A piece of a session that is found and ranked on its own: one turn of a conversation, or a part of a long text. An index
 * stores passages; a ranker orders those that the index found.
 */
export interface Passage {
  readonly key: number;
  readonly session: string;
  /** Its number in the session, from 0 and without gaps: passages at 4 and 5 were said one after the other. */
  readonly position: number;
  /** `user`, `assistant` or `tool`; in a conversation of people the name of the person. */
  readonly speaker: string;
  readonly kind: string;
  /** ISO 8601. */
  readonly at: string | undefined;
  readonly text: string;
  /** Of a result: the tool and its input, in short. A file's content rarely says its path; the call that read it does. */
  readonly call?: string | undefined;
  /** As `passageStems` returns them. */
  readonly stems: readonly string[];
  /** Of an `Embedder`, if the index keeps it; otherwise the ranker has the text embedded when it needs it. */
  readonly vector?: Float32Array | undefined;
}

export interface Candidate extends Passage {
  /** `neighbour`: within three passages of a found one. It gives context, and may itself be the answer. */
  readonly role: "found" | "neighbour";
}

/** Statistics of one kind of document over everything that was indexed. It is asked about the words of a query only. */
export interface Field<Word = string> {
  readonly documents: number;
  /** Words of all documents. */
  readonly words: number;
  readonly documentsWith: (word: Word) => number;
}

export interface Collection {
  /** Stems of passages. */
  readonly passages: Field;
  /** Words of all passages with each counted as `neighbourStemsMax` stems at most. */
  readonly cappedStems: number;
  /** Stems of whole sessions. */
  readonly sessions: Field;
  /** Stems of what the user said in each session. */
  readonly userSessions: Field;
  /** Terms (`eachTerm`) of passages and of their calls, for sessions with code. */
  readonly terms?: Field<number> | undefined;
}

/**
 * `people`: a conversation among people, whose passages have their names. `assistant`: users and an assistant. `coding`:
 * an assistant with tools, where results and code outnumber what was said.
 */
export type RankProfile = "people" | "assistant" | "coding";

export interface RankRequest {
  readonly query: string;
  /** ISO 8601: what "yesterday" in the query refers to. */
  readonly now?: string | undefined;
  readonly candidates: readonly Candidate[];
  readonly collection: Collection;
  /** By session, as `scoreSessionTexts` returns them. A session that is missing counts as zero. */
  readonly sessionScores: ReadonlyMap<string, number>;
  /** Without it, the candidates' speakers decide. */
  readonly profile?: RankProfile | undefined;
}

export interface RankedPassage {
  readonly key: number;
  readonly score: number;
}

/** Must be deterministic: equal requests give equal answers. */
export interface Ranker {
  readonly name: string;
  /** All candidates, best first. Must not reject. */
  rank(request: RankRequest): Promise<readonly RankedPassage[]>;
}

/** Vectors of texts. Their cosine is one more weighted part of a score, never the whole. */
export interface Embedder {
  readonly dims: number;
  /** One vector per text, in order. May reject: then the ranking goes on without vectors. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}
