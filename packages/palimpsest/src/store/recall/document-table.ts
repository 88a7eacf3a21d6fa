import type { RecallFilters } from "../../ports/recall-index.ts";
import { numberIn, optionalTextIn, type RecallDatabase, textIn } from "./database.ts";
import { positionsMax } from "./limits.ts";

/** A word of the index: of which column, and how common it is in the part that is searched. */
export interface WordCount {
  readonly column: "terms" | "stems";
  readonly token: string;
  /** Passages with it, exact up to `postingsSampleMax`. */
  readonly passages: number;
  /** Passages with it by document, as far as they were read. For stems only. */
  readonly byDocument: ReadonlyMap<number, number>;
}

export interface DocumentRow {
  readonly id: number;
  readonly source: string;
  readonly key: string;
  readonly session: string;
  readonly title: string | undefined;
  readonly modified: string;
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly passages: number;
  readonly chars: number;
  readonly terms: number;
  readonly stems: number;
  readonly capped: number;
}

/** By the id of its session or a prefix of it, as lists show them. */
export const isNamed = ({ session, key }: Pick<DocumentRow, "session" | "key">, name: string): boolean =>
  session === name || key === name || (name.length >= prefixCharsMin && session.startsWith(name));

/** A shorter prefix is more likely a typo. */
const prefixCharsMin = 4;

/** All documents of an index, as they were at one moment, and what was learnt about its words since. */
export class DocumentTable {
  /** Common words return in many queries, and are the costly ones to count. */
  readonly countByWord = new Map<string, WordCount>();
  readonly #rows: readonly DocumentRow[];
  readonly #byId: ReadonlyMap<number, DocumentRow>;

  constructor(database: RecallDatabase) {
    this.#rows = database.rows("select * from documents order by id").map((row) => ({
      id: numberIn(row, "id"),
      source: textIn(row, "source"),
      key: textIn(row, "key"),
      session: textIn(row, "session"),
      title: optionalTextIn(row, "title"),
      modified: textIn(row, "modified"),
      since: optionalTextIn(row, "since"),
      until: optionalTextIn(row, "until"),
      passages: numberIn(row, "passages"),
      chars: numberIn(row, "chars"),
      terms: numberIn(row, "terms"),
      stems: numberIn(row, "stems"),
      capped: numberIn(row, "capped"),
    }));
    this.#byId = new Map(this.#rows.map((row) => [row.id, row]));
  }

  get size(): number {
    return this.#rows.length;
  }

  get rows(): readonly DocumentRow[] {
    return this.#rows;
  }

  get(id: number): DocumentRow | undefined {
    return this.#byId.get(id);
  }

  sum(column: "passages" | "chars" | "terms" | "stems" | "capped"): number {
    return this.#rows.reduce((total, row) => total + row[column], 0);
  }

  /** Ids of the documents that may have a hit, in ascending order. */
  matching({ session, otherThan, source, after, before }: RecallFilters): readonly number[] {
    return this.#rows
      .filter(
        (row) =>
          row.passages > 0 &&
          (session === undefined || isNamed(row, session)) &&
          (otherThan === undefined || row.session !== otherThan) &&
          (source === undefined || row.source === source) &&
          (after === undefined || (row.until ?? row.modified) >= after) &&
          (before === undefined || (row.since ?? "") < before),
      )
      .map(({ id }) => id);
  }

  /** The share of a range's passages that have at least this number. */
  shareFrom(lowest: number, { first, last }: { readonly first: number; readonly last: number }): number {
    let all = 0;
    let above = 0;
    for (const { id, passages } of this.#rows) {
      const start = id * positionsMax;
      if (start > last || start + positionsMax <= first) continue;
      all += passages;
      above += Math.max(0, passages - Math.max(0, lowest - start));
    }
    return all === 0 ? 1 : Math.max(above, 1) / all;
  }
}
