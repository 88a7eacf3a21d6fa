import type { WriteFailure } from "../../ports/blobs.ts";
import type {
  CatchUpOptions,
  CatchUpOutcome,
  ForgetOutcome,
  OpenedDocument,
  OpenRecallOptions,
  RecallIndex,
  RecallOptions,
  RecallPassage,
  RecallState,
} from "../../ports/recall-index.ts";
import type { SearchOutcome } from "../../ports/session-search.ts";
import { entryId, toolUseId } from "../../schema/brand.ts";
import { catchUpIndex, type CatchUpParts } from "./catch-up.ts";
import { isDamaged, isRefused, numberIn, type RecallDatabase } from "./database.ts";
import { DocumentTable, isNamed } from "./document-table.ts";
import { neighboursMax } from "./limits.ts";
import { loadPassages } from "./load-passages.ts";
import { forgetDocuments } from "./remove-documents.ts";
import { searchIndex } from "./search-index.ts";

export interface SqliteIndexParts extends Omit<CatchUpParts, "database">, Pick<OpenRecallOptions, "ranker"> {
  /** Opens the index; `anew` deletes it first. */
  readonly openDatabase: (mode: "existing" | "anew") => RecallDatabase;
  readonly sizeBytes: () => Promise<number>;
}

/** The index in SQLite. One that turns out to be damaged is made anew; the next catch-up fills it again. */
export class SqliteRecallIndex implements RecallIndex {
  readonly #parts: SqliteIndexParts;
  #database: RecallDatabase;
  #table: { readonly table: DocumentTable; readonly version: string } | undefined;
  /** Writes of this connection. */
  #writes = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: SqliteIndexParts) {
    this.#parts = parts;
    this.#database = parts.openDatabase("existing");
  }

  async search(options: RecallOptions): Promise<SearchOutcome> {
    const { codec, ranker } = this.#parts;
    return await this.#repairing(
      async () => await searchIndex({ database: this.#database, codec, table: this.#documents(), ranker }, options),
    );
  }

  async neighbours(place: number, { count = neighboursMax }: { readonly count?: number | undefined } = {}) {
    const { codec } = this.#parts;
    return await this.#repairing(async (): Promise<readonly RecallPassage[]> => {
      const loaded = loadPassages(
        { database: this.#database, codec, table: this.#documents() },
        { numbers: [place], reach: count },
      );
      return [...loaded.values()].map(({ number, text, within: { kind, ref, at } }) => ({
        id: kind === "result" ? toolUseId(ref) : entryId(ref),
        kind,
        at,
        place: number,
        text,
      }));
    });
  }

  /** One at a time in this process. */
  async catchUp(options: CatchUpOptions = {}): Promise<CatchUpOutcome> {
    const outcome = this.#last.then(() => this.#catchUp(options));
    this.#last = outcome.catch(() => {});
    return await outcome;
  }

  async state(): Promise<RecallState> {
    const table = await this.#repairing(async () => this.#documents());
    return {
      documents: table.size,
      sessions: new Set(table.rows.map(({ session }) => session)).size,
      passages: table.sum("passages"),
      chars: table.sum("chars"),
      bytes: await this.#parts.sizeBytes(),
    };
  }

  async forget(sessions: readonly string[]): Promise<ForgetOutcome> {
    try {
      const ids = sessions
        .flatMap((session) => this.#database.rows("select id from documents where session = ?", session))
        .map((row) => numberIn(row, "id"));
      await forgetDocuments(this.#database, ids);
      return { kind: "forgotten", documents: ids.length };
    } catch (error) {
      return this.#toFailure(error);
    } finally {
      this.#writes += 1;
    }
  }

  async open(session: string): Promise<OpenedDocument | undefined> {
    const rows = this.#documents().rows.filter((row) => isNamed(row, session));
    for (const { source: name, key } of rows) {
      const opened = await this.#parts.sources.find((source) => source.name === name)?.open(key);
      if (opened !== undefined) return opened;
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.#last;
    this.#release();
    this.#database.close();
  }

  async #catchUp(options: CatchUpOptions): Promise<CatchUpOutcome> {
    try {
      return await this.#repairing(() => catchUpIndex({ ...this.#parts, database: this.#database }, options));
    } catch (error) {
      return this.#toFailure(error);
    } finally {
      this.#writes += 1;
      this.#release();
    }
  }

  #release(): void {
    for (const source of this.#parts.sources) source.release?.();
  }

  /** Tries once more with a new index if this one is damaged. */
  async #repairing<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      if (!isDamaged(error)) throw error;
      this.#database.close();
      this.#database = this.#parts.openDatabase("anew");
      this.#table = undefined;
      return await act();
    }
  }

  #documents(): DocumentTable {
    const version = `${this.#database.dataVersion()} ${this.#writes}`;
    if (this.#table?.version !== version) this.#table = { table: new DocumentTable(this.#database), version };
    return this.#table.table;
  }

  #toFailure(error: unknown): WriteFailure {
    if (!isRefused(error) && !isDamaged(error)) throw error;
    const why = error instanceof Error ? error.message : "unknown";
    return { kind: "failed", why: "io", message: `The recall index can't be written (${why}).` };
  }
}
