import type { Entry } from "../schema/entry.ts";
import type { Path } from "./path.ts";

/**
 * The newest recorded system prompt that the path was spoken under. Such entries stand on no path themselves: what
 * counts is whether an entry of the path hangs on one.
 */
export function systemPromptOf(path: Path): string | undefined {
  const above = (entry: Entry): Entry | undefined => {
    const parent = entry.parent ?? entry.logicalParent;
    return parent === undefined ? undefined : path.find(parent)?.entry;
  };
  const seen = new Set<Entry>();
  for (const entry of path.entries.toReversed()) {
    for (let at = above(entry); at?.kind === "other" && !seen.has(at); at = above(at)) {
      seen.add(at);
      if (at.systemPrompt !== undefined && at.sidechain === entry.sidechain) return at.systemPrompt;
    }
  }
  return undefined;
}
