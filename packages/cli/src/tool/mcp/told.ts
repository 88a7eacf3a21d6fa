import type { EntryId } from "palimpsest/internal/schema/brand";
import { field, isObject, text } from "palimpsest/internal/schema/json";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { toldKey } from "./servers.ts";

/** The mark of the newest announcement that the view still shows: one that a boundary or an undo took out tells nobody. */
export function toldServers({ path, projection }: Pick<Fold, "path" | "projection">): string | undefined {
  const { entries } = path;
  let shown: ReadonlySet<EntryId> | undefined;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry?.kind !== "attachment" || entry.id === undefined) continue;
    const data = field(entry.attachment, "data");
    const told = isObject(data) ? text(data, toldKey) : undefined;
    if (told === undefined) continue;
    shown ??= new Set(projection.items.map((item) => item.entry));
    if (shown.has(entry.id)) return told;
  }
  return undefined;
}
