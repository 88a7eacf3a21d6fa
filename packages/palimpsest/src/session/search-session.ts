import type { BlobsDep } from "../ports/blobs.ts";
import type { SearchOutcome, SearchOptions } from "../ports/session-search.ts";
import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import { type RecentTextsDeps, SessionIndex } from "../recall/session-index.ts";
import type { SessionId } from "../schema/brand.ts";
import { readPlace, scanForward } from "./scan-lines.ts";
import { withSource } from "./counted-log.ts";

export interface SearchSessionOptions extends SearchOptions {
  readonly source: ByteSource;
}

/**
 * Full-text search over everything that one log and its blobs ever held, for one query. The log is read once, and only
 * what the query can match is kept.
 */
export async function searchSession(
  deps: BlobsDep,
  { source, ...options }: SearchSessionOptions,
): Promise<SearchOutcome> {
  const { blobs } = deps;
  const index = new SessionIndex({ blobs, lineAt: (place) => readPlace(source, place) }, { only: options.query });
  for await (const { logged } of scanForward(source)) for (const line of logged) await index.append(line);
  return await index.search(options);
}

/**
 * The same over a session that is being written, for any number of queries. Each search first reads what was appended
 * since the previous one. Nothing is read before the first.
 */
export class SessionSearch {
  readonly #deps: TranscriptsDep & BlobsDep;
  readonly #session: SessionId;
  readonly #index: SessionIndex;
  /** Offset of the first line that is not in the index. */
  #indexedBytes = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: TranscriptsDep & BlobsDep, session: SessionId) {
    this.#deps = deps;
    this.#session = session;
    const lineAt: RecentTextsDeps["lineAt"] = (place) =>
      withSource(deps, session, (source) => readPlace(source, place));
    this.#index = new SessionIndex({ blobs: deps.blobs, lineAt });
  }

  /**
   * Searches run one at a time, also those that are not awaited, so that no line is indexed twice. Undefined if the
   * transcript can't be read.
   */
  async search(options: SearchOptions): Promise<SearchOutcome | undefined> {
    const caughtUp = this.#last.then(() => this.#catchUp());
    this.#last = caughtUp.catch(() => {});
    return (await caughtUp) === undefined ? undefined : await this.#index.search(options);
  }

  async #catchUp(): Promise<"caught-up" | undefined> {
    return await withSource<"caught-up">(this.#deps, this.#session, async (source) => {
      for await (const { logged } of scanForward(source, { from: this.#indexedBytes })) {
        for (const line of logged) {
          await this.#index.append(line);
          this.#indexedBytes = line.end + 1;
        }
      }
      return "caught-up";
    });
  }
}
