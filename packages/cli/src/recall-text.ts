import type { Hit, Searched } from "palimpsest/internal/ports/session-search";
import { clipped, counted, humanCount, oneLine, shortId } from "./human.ts";
import type { Style } from "./style.ts";

/** Ids of the same line that are named; `--json` has them all. */
const alsoNamedMax = 5;

export interface HitsLook {
  readonly style: Style;
  /** How to see this page. */
  readonly goesOn: (page: number) => string;
}

export function hitsText(
  { hits, page, pages, total, shown }: Extract<Searched, { kind: "found" }>,
  { style, goesOn }: HitsLook,
): string {
  if (total === 0) return "nothing found\n";
  const best = shown < total ? `, the best ${humanCount(shown)} shown` : "";
  const where = pages > 1 ? `, page ${page} of ${pages}${page < pages ? ` (${goesOn(page + 1)})` : ""}` : "";
  return `${hits.map((hit) => hitText(style, hit)).join("")}${style("dim", `${counted(total, "text")} found${best}${where}`)}\n`;
}

function hitText(style: Style, { id, kind, at, call, snippet, also }: Hit): string {
  const head = [
    style("bold", oneLine(shortId(id))),
    kind,
    at && oneLine(at),
    call === undefined ? undefined : clipped(call, 80),
  ];
  const named = also.slice(0, alsoNamedMax).map((other) => oneLine(shortId(other)));
  const more = also.length > named.length ? ` and ${also.length - named.length} more` : "";
  const same = also.length === 0 ? "" : `  ${style("dim", `same line in ${named.join(", ")}${more}`)}\n`;
  return `${head.filter((part) => part !== undefined).join("  ")}\n  ${oneLine(snippet)}\n${same}`;
}
