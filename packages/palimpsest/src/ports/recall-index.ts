import type { WriteFailure } from "./blobs.ts";
import type { Ranker } from "./ranker.ts";
import type { SearchHit, SearchOptions, SearchOutcome, SearchTextKind } from "./session-search.ts";

/**
 * Full-text index over all sessions of a project and whatever else its sources hold. It is disposable: everything in it is
 * read again from the sources.
 *
 *   absent ──open──▶ behind ──catchUp──▶ caught up ──a source grows──▶ behind
 *   any state ──kill──▶ the state after the last transaction, which is `behind` or `caught up`
 *
 * Any number of processes search; one at a time indexes.
 */
export interface RecallIndex {
  /** Searches what has been indexed so far, and writes nothing. */
  search(options: RecallOptions): Promise<SearchOutcome>;
  /** The passages around one, in order: what was said before and after it. */
  neighbours(place: number, options?: { readonly count?: number | undefined }): Promise<readonly RecallPassage[]>;
  /**
   * Indexes what the sources hold and the index does not, newest documents first, in small transactions. Writes nothing if
   * there is nothing new. Must not reject.
   */
  catchUp(options?: CatchUpOptions): Promise<CatchUpOutcome>;
  state(): Promise<RecallState>;
  /**
   * Removes everything of these sessions from the index, until a source lists one again: nothing of their words stays on the
   * disk. The time depends on the size of the index, not on the number of sessions; other work goes on meanwhile.
   */
  forget(sessions: readonly string[]): Promise<ForgetOutcome>;
  /** The document that a session or hit comes from, opened. The caller closes it. */
  open(session: string): Promise<OpenedDocument | undefined>;
  close(): Promise<void>;
}

export interface RecallFilters {
  readonly session?: string | undefined;
  /** Leaves this session out. */
  readonly otherThan?: string | undefined;
  /** A source's name. */
  readonly source?: string | undefined;
  readonly kind?: SearchTextKind | undefined;
  /** The name of a tool: its calls and their results. */
  readonly tool?: string | undefined;
  /** A path or a part of one: calls that name it, and their results. */
  readonly file?: string | undefined;
  /** ISO 8601, inclusive; a date alone is its beginning. */
  readonly after?: string | undefined;
  /** ISO 8601, exclusive. */
  readonly before?: string | undefined;
}

/** With an empty query and a filter, the newest texts that pass the filters are the hits. */
export interface RecallOptions extends SearchOptions, RecallFilters {}

export interface RecallPassage extends Pick<SearchHit, "id" | "kind" | "at"> {
  readonly place: number;
  readonly text: string;
}

export interface CatchUpOptions {
  /** Only the documents of this session; the rest stays as it is. */
  readonly session?: string | undefined;
  /** Stops after the current transaction. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CatchUpProgress) => void) | undefined;
}

export interface CatchUpProgress {
  /** Bytes of documents, indexed and in all. */
  readonly done: number;
  readonly total: number;
}

export type CatchUpOutcome =
  | { readonly kind: "caught-up"; readonly documents: number; readonly passages: number }
  | { readonly kind: "cancelled"; readonly documents: number; readonly passages: number }
  /** Another process indexes, and did not end before the signal. */
  | { readonly kind: "busy" }
  | WriteFailure;

export interface RecallState {
  readonly documents: number;
  readonly sessions: number;
  readonly passages: number;
  /** Characters of the texts. */
  readonly chars: number;
  /** Bytes of the index itself. */
  readonly bytes: number;
}

export type ForgetOutcome = { readonly kind: "forgotten"; readonly documents: number } | WriteFailure;

/** What is indexed, where it lies. A source is only read. */
export interface RecallSource {
  readonly name: string;
  /** Undefined if it can't be listed now; a document that is missing in a list is removed from the index. Must not reject. */
  list(): Promise<readonly RecallDocument[] | undefined>;
  /** Undefined if it is gone. The caller closes it. */
  open(key: string): Promise<OpenedDocument | undefined>;
  /** A look at the source is over: what it keeps open meanwhile can be closed. */
  release?(): void;
}

/** A log, or a text such as a memory. */
export interface RecallDocument {
  /** Unique in its source. */
  readonly key: string;
  /** The session that it belongs to; several logs can belong to one. */
  readonly session: string;
  readonly title: string | undefined;
  /** Changes whenever the content does. */
  readonly version: string;
  readonly size: number;
  /** ISO 8601: when it was last written to. */
  readonly modified: string;
}

export interface OpenedDocument {
  readonly key: string;
  /** Identifies the content up to `end`, or enough of it to tell a document that grew from one that was replaced. */
  mark(end: number): Promise<string>;
  /** The texts from an `end` of an earlier batch on; from 0 all of them. */
  read(from: number): AsyncIterable<RecallBatch>;
  /** The original behind an id, byte for byte; undefined if nothing has it. */
  expand(id: string): Promise<RecalledOriginal | undefined>;
  close(): Promise<void>;
}

/** Of an entry the line of its log, of a call the result, of a text the whole. */
export interface RecalledOriginal {
  readonly kind: "entry" | "result" | "blob";
  readonly bytes: Uint8Array;
  /** Of a result: the bytes are the JSON of its blocks. Absent: they are its text. */
  readonly form?: "json" | undefined;
}

export interface RecallBatch {
  readonly texts: readonly RecallText[];
  /** Where the next `read` goes on. */
  readonly end: number;
}

export interface RecallText extends Pick<SearchHit, "kind" | "at"> {
  /** The id with which the original comes back. */
  readonly id: string;
  readonly text: string;
  readonly form: "verbatim" | "gathered";
  /** `blob`: the whole of a result whose preview is in the log. */
  readonly from: "line" | "blob";
  /** Of a call or a result. */
  readonly toolUse?: string | undefined;
  /** Of a call. */
  readonly tool?: string | undefined;
  /** Of a call: the paths in its input. */
  readonly files?: readonly string[] | undefined;
}

export interface OpenRecallOptions {
  readonly sources: readonly RecallSource[];
  /** Runs over every text, title and path of a file before it is written. */
  readonly maskText: (text: string) => string | Promise<string>;
  /** Orders what was found. Without one, the sum of the words' rarity decides. */
  readonly ranker?: Ranker | undefined;
}

export type OpenRecallOutcome =
  | { readonly kind: "open"; readonly index: RecallIndex }
  /** This platform has no SQLite. */
  | { readonly kind: "unavailable"; readonly why: string }
  | WriteFailure;

/** Where a store keeps its index. */
export interface RecallIndexes {
  /** Creates the index if it is missing, and again if it can't be read. Must not reject. */
  open(options: OpenRecallOptions): Promise<OpenRecallOutcome>;
  /** Whether there is one already, so that something could be in it. Must not reject. */
  exists(): Promise<boolean>;
}
