import { SessionIndex } from "palimpsest/internal/recall/session-index";
import { memoryBlobs } from "palimpsest/internal/store/memory/blobs";
import type { Logged } from "palimpsest/internal/transcript/lines";
import type { Recall } from "./judge.ts";
import { recallHitsMax } from "./limits.ts";

/** The agent's own search, over a recording: its results are whole, so there is no blob to fetch. */
export function sessionRecall(): Recall {
  const lines: Logged[] = [];
  const index = new SessionIndex({
    blobs: memoryBlobs(),
    lineAt: async ({ start }) => lines[start],
  });
  return {
    append: async (entry) => {
      const line = { entry, start: lines.length, end: lines.length };
      lines.push(line);
      await index.append(line);
    },
    search: async (words) => {
      // Quotation marks would ask for a phrase.
      const query = words.replaceAll(/["“”]/g, " ");
      const searched = await index.search({ query, pageSize: recallHitsMax });
      return searched.kind === "found" ? searched.hits.map(({ id, also }) => [id, ...also]) : [];
    },
  };
}
