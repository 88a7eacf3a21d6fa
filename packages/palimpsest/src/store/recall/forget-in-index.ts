import type { WriteFailure } from "../../ports/blobs.ts";
import type { Memories } from "../../ports/memories.ts";
import type { RecallIndexes } from "../../ports/recall-index.ts";

/** Takes sessions, or memories by their paths, out of an index with all their words, if there is one. Must not reject. */
export async function forgetInIndex(
  recall: RecallIndexes,
  sessions: readonly string[],
): Promise<WriteFailure | undefined> {
  if (sessions.length === 0 || !(await recall.exists())) return undefined;
  const opened = await recall.open({ sources: [], maskText: (text) => text });
  if (opened.kind === "failed") return opened;
  if (opened.kind === "unavailable") return undefined;
  const outcome = await opened.index.forget(sessions);
  await opened.index.close();
  return outcome.kind === "failed" ? outcome : undefined;
}

/** Memories that are purged from the index too, in which each is a session of its own. */
export const forgottenInIndex = (recall: RecallIndexes, purge: Memories["purge"]): Memories["purge"] => {
  return async (paths) => {
    const outcome = await purge(paths);
    if (outcome.kind !== "purged") return outcome;
    return (await forgetInIndex(recall, [...new Set([...paths, ...outcome.paths])])) ?? outcome;
  };
};
