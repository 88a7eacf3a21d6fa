import type { LoopEvent } from "palimpsest/internal/schema/event";
import { withoutStop } from "./compact/failure-words.ts";
import { categoryWords, itemText } from "./context-text.ts";
import { humanCount, oneLine } from "./human.ts";

/** One line: what is largest in the words of `palimpsest context`, which has the rest. */
export function headroomText({ tokens, limit, largest, because }: Extract<LoopEvent, { kind: "no-headroom" }>): string {
  const named = largest.slice(0, namedMax).map((item) => `${wordsOf(item.what)} (${humanCount(item.tokens)})`);
  return `no headroom: about ${humanCount(tokens)} tokens of ${humanCount(limit)}, and nothing is left to clear${because === undefined ? "" : `; ${withoutStop(oneLine(because))}`}; the largest: ${named.join(", ")}; \`palimpsest context\` shows all`;
}

/** More make no line that anybody reads. */
const namedMax = 3;

/** Of one item, its id included. */
const itemColumns = 48;

/** A category by its name, or an item with the entry that it stands in. */
function wordsOf(what: string): string {
  const [, item, entry] = /^(.*) \(([^()\s]+)\)$/s.exec(what) ?? [];
  return item === undefined || entry === undefined ? categoryWords(what) : itemText({ what: item, entry }, itemColumns);
}
