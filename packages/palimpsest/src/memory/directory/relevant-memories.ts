import type { Memory } from "../../ports/memories.ts";
import { relevantFilesMax, relevantScannedMax, relevantSessionBytesMax } from "./limits.ts";

/**
 * Orders memories by how much they have to do with a message, best first, and leaves out those that have nothing to do
 * with it. Must not reject: a ranking that fails returns nothing, and never fails a turn.
 */
export type RankMemories = (message: string, memories: readonly Memory[]) => Promise<readonly Memory[]>;

/** What a session was shown so far. */
export interface ShownMemories {
  /** Path and hash: a memory that has changed since may be shown again. */
  readonly keys: ReadonlySet<string>;
  readonly bytes: number;
}

export const shownKey = ({ path, hash }: Pick<Memory, "path" | "hash">): string => `${path}@${hash}`;

/** The memories to scan for a message: the newest, without those that were shown already. */
export function selectCandidates(memories: readonly Memory[], shown: ShownMemories): readonly Memory[] {
  if (shown.bytes >= relevantSessionBytesMax) return [];
  return memories
    .filter((memory) => memory.role === "memory" && !shown.keys.has(shownKey(memory)))
    .toSorted((one, other) => other.modifiedMs - one.modifiedMs)
    .slice(0, relevantScannedMax);
}

/** The best few of a ranking whose texts still fit the session's budget. */
export function selectShown<Shown extends { readonly text: string }>(
  ranked: readonly Shown[],
  shown: ShownMemories,
): readonly Shown[] {
  let left = relevantSessionBytesMax - shown.bytes;
  const fitting = ranked.filter(({ text }) => {
    const size = Buffer.byteLength(text);
    if (size > left) return false;
    left -= size;
    return true;
  });
  return fitting.slice(0, relevantFilesMax);
}
