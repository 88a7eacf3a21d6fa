import type { OpenRecallOutcome, RecallOptions, RecallSource } from "../ports/recall-index.ts";
import type { SearchOutcome, SessionSearchOutcome } from "../ports/session-search.ts";
import { createDefaultRanker } from "../recall/default-ranker.ts";
import { millis } from "../schema/brand.ts";
import { memoryRecall } from "../store/memory/memory-recall.ts";

/** A search of one session takes the filters of a search of all, but those that choose a session. */
export type SessionSearchOptions = Omit<RecallOptions, "session" | "otherThan" | "source">;

/**
 * An index in memory of one log, which is made with the first search; each search reads what was appended since the one
 * before. Secrets are not masked, because nothing is written anywhere.
 */
export class LogIndex {
  readonly #source: RecallSource;
  #opened: Promise<OpenRecallOutcome> | undefined;

  /** The source lists no document, or one. */
  constructor(source: RecallSource) {
    this.#source = source;
  }

  /** Undefined if the source lists none. */
  async search(options: SessionSearchOptions): Promise<SessionSearchOutcome | undefined> {
    const opened = await (this.#opened ??= this.#open());
    if (opened.kind === "unavailable") return opened;
    if (opened.kind === "failed") return { kind: "unavailable", why: opened.message };
    const { index } = opened;
    await index.catchUp();
    return (await index.state()).documents === 0 ? undefined : withoutSession(await index.search(options));
  }

  async close(): Promise<void> {
    const opened = await this.#opened;
    if (opened?.kind === "open") await opened.index.close();
  }

  #open(): Promise<OpenRecallOutcome> {
    return memoryRecall({ now: () => millis(0) }).open({
      sources: [this.#source],
      maskText: (text) => text,
      ranker: createDefaultRanker(),
    });
  }
}

/** Ids of one session need no name of it in front. */
export const withoutSession = (searched: SearchOutcome): SearchOutcome =>
  searched.kind === "found"
    ? { ...searched, hits: searched.hits.map((hit) => ({ ...hit, session: undefined })) }
    : searched;
