import type { RecallFilters } from "../../ports/recall-index.ts";
import { candidatesMax } from "../../recall/limits.ts";
import { numberIn, optionalTextIn } from "./database.ts";
import { positionsMax } from "./limits.ts";
import { loadPassages, type LoadedPassage } from "./load-passages.ts";
import type { SearchIndexDeps } from "./rank-loaded.ts";

interface DatedText {
  readonly id: number;
  readonly at: string;
}

/**
 * The first passages of the newest texts that pass the filters, newest first. Documents are looked through from the newest
 * on, until the next one ends before all that was found.
 */
export function findNewest(
  deps: Pick<SearchIndexDeps, "database" | "codec" | "table">,
  filters: RecallFilters,
): readonly LoadedPassage[] {
  const { table } = deps;
  const readEnd = (document: number): string => table.get(document)?.until ?? table.get(document)?.modified ?? "";
  let found: readonly DatedText[] = [];
  for (const document of table.matching(filters).toSorted((a, b) => readEnd(b).localeCompare(readEnd(a)))) {
    const oldest = found[candidatesMax - 1];
    if (oldest !== undefined && readEnd(document) < oldest.at) break;
    found = [...found, ...findInDocument(deps, { document, filters })]
      .toSorted((a, b) => b.at.localeCompare(a.at) || b.id - a.id)
      .slice(0, candidatesMax);
  }
  const loaded = loadPassages(deps, { numbers: found.map(({ id }) => id), reach: 0 });
  return found.flatMap(({ id }) => loaded.get(id) ?? []);
}

function findInDocument(
  { database, table }: Pick<SearchIndexDeps, "database" | "table">,
  { document, filters }: { readonly document: number; readonly filters: RecallFilters },
): readonly DatedText[] {
  const { kind, tool, file, after, before } = filters;
  const given = [
    { sql: "kind = ?", value: kind },
    { sql: "tool = ? collate nocase", value: tool },
    { sql: "instr(lower(files), lower(?)) > 0", value: file },
    { sql: "at >= ?", value: after },
    { sql: "at < ?", value: before },
  ].flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
  const rows = database.rows(
    `select id, at from texts where id between ? and ? and place <> 'hidden' and passages > 0
       ${given.map(({ sql }) => `and ${sql}`).join(" ")} order by at desc, id desc limit ?`,
    document * positionsMax,
    (document + 1) * positionsMax - 1,
    ...given.map(({ value }) => value),
    candidatesMax,
  );
  // A text without a time is as old as its document.
  const usual = table.get(document)?.modified ?? "";
  return rows.map((row) => ({ id: numberIn(row, "id"), at: optionalTextIn(row, "at") ?? usual }));
}
