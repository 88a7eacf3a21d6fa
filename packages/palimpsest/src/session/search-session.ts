import type { BlobsDep } from "../ports/blobs.ts";
import type { SearchOutcome, SearchOptions } from "../ports/session-search.ts";
import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import type { RecentTextsDeps } from "../recall/recent-texts.ts";
import { SessionIndex } from "../recall/session-index.ts";
import type { SessionId } from "../schema/brand.ts";
import { readPlace, scanForward } from "./scan-lines.ts";

export interface SearchSessionOptions extends SearchOptions {
  readonly source: ByteSource;
}

/**
 * Full-text search over everything that one log and its blobs ever held, for one query: the log is read once, and nothing
 * is kept but what the query can find.
 */
export async function searchSession(
  deps: BlobsDep,
  { source, ...options }: SearchSessionOptions,
): Promise<SearchOutcome> {
  const { blobs } = deps;
  const index = new SessionIndex({ blobs, lineAt: (place) => readPlace(source, place) }, { only: options.query });
  for await (const { logged } of scanForward(source)) for (const one of logged) await index.append(one);
  return await index.search(options);
}

/**
 * The same over a session that is being written, for as many queries as are asked: each search first reads what was
 * appended since the one before. Nothing is read before the first.
 */
export class SessionSearch {
  readonly #deps: TranscriptsDep & BlobsDep;
  readonly #session: SessionId;
  readonly #index: SessionIndex;
  /** Where the first line begins that is not in the index. */
  #indexedBytes = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: TranscriptsDep & BlobsDep, session: SessionId) {
    this.#deps = deps;
    this.#session = session;
    const lineAt: RecentTextsDeps["lineAt"] = (place) => this.#reading((source) => readPlace(source, place));
    this.#index = new SessionIndex({ blobs: deps.blobs, lineAt });
  }

  /** One at a time, also those that are not awaited: no line is taken in twice. Undefined where the transcript can't be read. */
  async search(options: SearchOptions): Promise<SearchOutcome | undefined> {
    const caughtUp = this.#last.then(() => this.#catchUp());
    this.#last = caughtUp.catch(() => {});
    return (await caughtUp) === undefined ? undefined : await this.#index.search(options);
  }

  async #catchUp(): Promise<"caught-up" | undefined> {
    return await this.#reading<"caught-up">(async (source) => {
      for await (const { logged } of scanForward(source, { from: this.#indexedBytes })) {
        for (const one of logged) {
          await this.#index.append(one);
          this.#indexedBytes = one.end + 1;
        }
      }
      return "caught-up";
    });
  }

  async #reading<Read>(read: (source: ByteSource) => Promise<Read>): Promise<Read | undefined> {
    const source = await this.#deps.transcripts.openForReading(this.#session);
    if (source === undefined) return undefined;
    try {
      return await read(source);
    } finally {
      await source.close();
    }
  }
}
