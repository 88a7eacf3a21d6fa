import { findDerived, findShared, forgetMemories } from "palimpsest/internal/memory/directory/forget-memories";
import type { Memories } from "palimpsest/internal/ports/memories";
import type { SessionRemover } from "palimpsest/internal/session/delete-sessions";
import type { Failure } from "../program/failure.ts";
import { quantity } from "../text/format.ts";
import { writeRefusal } from "./change-memory.ts";

/** What forgetting these would remove, as a question. */
export async function describeForget(memories: Memories, paths: readonly string[]): Promise<string> {
  const all = findDerived(await memories.history(), { kind: "paths", paths });
  const derived = all.filter((path) => !paths.includes(path));
  const also = derived.length === 0 ? "" : `, and what was made from it: ${derived.join(", ")}`;
  return `Forget ${paths.join(", ")} with all revisions${also}? This can't be undone.`;
}

/** Removes the memories, what was derived from them, and every revision of either. */
export async function forgetMemory(
  memories: Memories,
  paths: readonly string[],
): Promise<{ readonly kind: "forgotten"; readonly message: string; readonly paths: readonly string[] } | Failure> {
  const outcome = await forgetMemories(memories, { kind: "paths", paths });
  if (outcome.kind !== "purged") return writeRefusal(outcome);
  const message = `Forgot ${quantity(outcome.paths.length, "memory")} (${outcome.paths.join(", ")}) in ${quantity(outcome.revisions, "revision")}. The conversations they came from still hold the words.`;
  return { kind: "forgotten", message, paths: outcome.paths };
}

/** Takes the memories along that came from a deleted session alone, if the user chose so. */
export const memoryRemover = (memories: Memories): SessionRemover => ({
  name: "memories",
  describe: async (session) => {
    const history = await memories.history();
    const present = new Set((await memories.list()).map(({ path }) => path));
    const gone = findDerived(history, { kind: "session", session }).filter((path) => present.has(path));
    const shared = findShared(history, session).filter((path) => present.has(path));
    const kept =
      shared.length === 0 ? "" : `; ${shared.join(", ")} stay${shared.length === 1 ? "s" : ""}: others wrote in it too`;
    return gone.length === 0 ? undefined : `${quantity(gone.length, "memory")} (${gone.join(", ")})${kept}`;
  },
  remove: async (sessions) => {
    for (const session of sessions) {
      const outcome = await forgetMemories(memories, { kind: "session", session });
      if (outcome.kind === "failed") return outcome;
      if (outcome.kind === "busy")
        return { kind: "failed", why: "io", message: `they are being written by ${outcome.holder}` };
    }
    return undefined;
  },
});
