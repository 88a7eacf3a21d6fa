import type { DatabaseSync, StatementSync } from "node:sqlite";
import { busyMsMax, cacheKibMax } from "./limits.ts";

/**
 * The tables. A passage has the number `document × 2^24 + position`: one document is one range of numbers, in every table.
 *
 *   documents   what is indexed, up to which byte, and its totals
 *   texts       one row per text, numbered like its first passage; a result names the text of its call (called)
 *   chunks      some passages in a row, compressed, numbered like the first of them
 *   words       full-text index without contents: terms (hashes of `eachTerm`), stems, and what filters ask for
 *   lease       which process indexes, and until when
 *   marks       `erase`: words of forgotten documents are still in the files
 */
const schema = `
  create table documents (
    id integer primary key autoincrement,
    source text not null, key text not null, session text not null, title text,
    version text not null, modified text not null,
    indexed integer not null, mark text not null,
    passages integer not null, chars integer not null, terms integer not null, stems integer not null, capped integer not null,
    since text, until text,
    unique (source, key));
  create index documents_session on documents (session);
  create table texts (
    id integer primary key,
    passages integer not null, kind text not null, ref text not null, at text, form text not null, place text not null,
    use text, tool text, call text, files text, called integer);
  create table chunks (id integer primary key, passages integer not null, body blob not null);
  create virtual table words using fts5(terms, stems, facets, content='', contentless_delete=1, tokenize='ascii');
  insert into words(words, rank) values ('rank', 'bm25(1.0, 1.0, 0.0)');
  create table lease (name text primary key, holder text not null, until integer not null);
  create table marks (name text primary key);
`;

/** Raised with every change of the tables or of what stands in them: an index of another version is made anew. */
const schemaVersion = 4;

export interface Sqlite {
  readonly DatabaseSync: typeof DatabaseSync;
}

/**
 * SQLite of this platform; undefined in browsers and in a Node without it. Asked for at run time, so that the engine loads
 * everywhere.
 */
export function platformSqlite(): Sqlite | undefined {
  return typeof process === "undefined" || typeof process.getBuiltinModule !== "function"
    ? undefined
    : process.getBuiltinModule("node:sqlite");
}

/** An open index, with its statements prepared once each. */
export class RecallDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Throws if the file is no index of this version. */
  static open(sqlite: Sqlite, path: string): RecallDatabase {
    const database = new sqlite.DatabaseSync(path, { timeout: busyMsMax });
    try {
      database.exec(`pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on;
        pragma cache_size = -${cacheKibMax}; pragma temp_store = memory`);
      prepareTables(database);
      return new RecallDatabase(database);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  rows(sql: string, ...values: readonly SqlValue[]): Row[] {
    return this.#statement(sql).all(...values);
  }

  row(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  run(sql: string, ...values: readonly SqlValue[]): void {
    this.#statement(sql).run(...values);
  }

  /** All or nothing. `busy`: another process is writing. */
  transact<Result>(write: () => Result): Result | "busy" {
    try {
      this.#database.exec("begin immediate");
    } catch (error) {
      if (isBusy(error)) return "busy";
      throw error;
    }
    try {
      const result = write();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }

  /** Rows that this connection has changed. */
  totalChanges(): number {
    return numberIn(this.row("select total_changes() as changes"), "changes");
  }

  /** Writes everything from the log into the database. While others read it, the log stays, until the last of them closes. */
  emptyLog(): void {
    this.row("pragma wal_checkpoint(truncate)");
  }

  /** Changes when another connection writes. */
  dataVersion(): number {
    return numberIn(this.row("pragma data_version"), "data_version");
  }

  close(): void {
    this.#database.close();
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#database.prepare(sql);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

function prepareTables(database: DatabaseSync): void {
  const version = (): number => numberIn(database.prepare("pragma user_version").get(), "user_version");
  if (version() === schemaVersion) return;
  database.exec("begin immediate");
  try {
    // Another process may have made them meanwhile.
    if (version() === 0) database.exec(`${schema}; pragma user_version = ${schemaVersion}`);
    else if (version() !== schemaVersion) throw new Error(`the index has version ${version()}`);
    database.exec("commit");
  } catch (error) {
    database.exec("rollback");
    throw error;
  }
}

type SqlValue = string | number | null | Uint8Array;
export type Row = Record<string, unknown>;

/** Readers for columns whose types the schema fixes. */
export const numberIn = (row: Row | undefined, column: string): number => {
  const value = row?.[column];
  return typeof value === "number" ? value : 0;
};
export const textIn = (row: Row | undefined, column: string): string => {
  const value = row?.[column];
  return typeof value === "string" ? value : "";
};
export const optionalTextIn = (row: Row | undefined, column: string): string | undefined =>
  textIn(row, column) || undefined;

const sqliteBusy = 5;
const errcode = (error: unknown): number | undefined =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
export const isBusy = (error: unknown): boolean => errcode(error) === sqliteBusy;
/** Damaged, or no database at all. */
export const isDamaged = (error: unknown): boolean => [11, 26].includes(errcode(error) ?? 0);
/** A refusal of the disk: full, read-only, no permission, can't be opened. */
export const isRefused = (error: unknown): boolean => [3, 8, 10, 13, 14, 23].includes(errcode(error) ?? 0);
