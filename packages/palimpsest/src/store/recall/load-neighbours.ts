import type { HitNeighbour, SearchHit } from "../../ports/session-search.ts";
import { neighbourLine } from "../../recall/snippet.ts";
import { entryId, toolUseId } from "../../schema/brand.ts";
import { numberIn } from "./database.ts";
import { positionsMax } from "./limits.ts";
import { loadPassages, type StoredText } from "./load-passages.ts";
import type { SearchIndexDeps } from "./rank-loaded.ts";

/** The nearest texts of other entries in the same document. A result names its own call already, so that is none. */
export function loadNeighbours(
  deps: Pick<SearchIndexDeps, "database" | "codec" | "table">,
  text: StoredText,
): Pick<SearchHit, "before" | "after"> {
  const { ref, called } = text;
  const position = positionInLog(deps, text);
  const start = position - (position % positionsMax);
  const neighbour = ({ from, to, order }: { from: number; to: number; order: "asc" | "desc" }) => {
    const row = deps.database.row(
      `select id from texts where id between ? and ? and place = 'line' and passages > 0 and ref <> ? and id <> ?
         order by id ${order} limit 1`,
      from,
      to,
      ref,
      called ?? -1,
    );
    return row === undefined ? undefined : readNeighbour(deps, numberIn(row, "id"));
  };
  return {
    before: neighbour({ from: start, to: position - 1, order: "desc" }),
    after: neighbour({ from: position + 1, to: start + positionsMax - 1, order: "asc" }),
  };
}

/** A blob stands where its preview does, or its call, not where the edit is that wrote it. */
function positionInLog(
  { database }: Pick<SearchIndexDeps, "database">,
  { id, ref, called, place }: StoredText,
): number {
  if (place !== "blob" || called === undefined) return id;
  const preview = database.row(
    "select id from texts where id between ? and ? and ref = ? and place = 'hidden' limit 1",
    called,
    id,
    ref,
  );
  return preview === undefined ? called : numberIn(preview, "id");
}

function readNeighbour(
  deps: Pick<SearchIndexDeps, "database" | "codec" | "table">,
  number: number,
): HitNeighbour | undefined {
  const passage = loadPassages(deps, { numbers: [number], reach: 0 }).get(number);
  if (passage === undefined) return undefined;
  const { kind, ref } = passage.within;
  return { id: kind === "result" ? toolUseId(ref) : entryId(ref), kind, text: neighbourLine(passage.text) };
}
