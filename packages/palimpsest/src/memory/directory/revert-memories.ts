import type {
  Memories,
  MemoryChange,
  MemoryChangeSet,
  MemoryCommitOutcome,
  MemoryRevision,
  MemoryRevisionChange,
} from "../../ports/memories.ts";
import type { MemoryHash, MemoryRevisionId, Millis } from "../../schema/brand.ts";
import { memoryRole } from "./memory-path.ts";
import { RecordedFiles } from "./recorded-files.ts";

interface RevertRequest {
  readonly revision: MemoryRevisionId;
  /** Only this file of the change set. */
  readonly path?: string | undefined;
  readonly now: Millis;
}

export type RevertOutcome = MemoryCommitOutcome | Exclude<RevertPlan, { kind: "planned" }>;

/** Undoes one revision, or what it did to one file, as a new revision. */
export async function revertMemories(memories: Memories, request: RevertRequest): Promise<RevertOutcome> {
  const plan = await planRevert(request, {
    history: await memories.history(),
    hashByPath: new Map((await memories.list()).map((memory) => [memory.path, memory.hash])),
    text: (hash) => memories.text(hash),
  });
  return plan.kind === "planned" ? memories.commit(plan.changeSet) : plan;
}

interface RevertState {
  /** Newest first, as the port returns it. */
  readonly history: readonly MemoryRevision[];
  readonly hashByPath: ReadonlyMap<string, MemoryHash>;
  readonly text: (hash: MemoryHash) => Promise<string | undefined>;
}

type RevertPlan =
  | { readonly kind: "planned"; readonly changeSet: MemoryChangeSet }
  | { readonly kind: "unknown-revision" }
  /** Their earlier text was purged, or held a secret and was never kept. */
  | { readonly kind: "gone"; readonly paths: readonly string[] }
  /** They have changed since: revert the later revisions first, or restore the text yourself. */
  | { readonly kind: "conflict"; readonly paths: readonly string[] };

/** A change set that puts every file back to what it was before a revision, with the trust that it had then. */
async function planRevert({ revision: id, path: only, now }: RevertRequest, state: RevertState): Promise<RevertPlan> {
  const { history, hashByPath } = state;
  const at = history.findIndex((one) => one.id === id);
  const revision = history[at];
  const wanted = revision?.changes.filter(({ path }) => only === undefined || path === only) ?? [];
  if (revision === undefined || wanted.length === 0) return { kind: "unknown-revision" };
  const isCurrent = ({ path, after }: MemoryRevisionChange): boolean => hashByPath.get(path) === after;
  // The index follows the files, and a day's log only grows: they are put back only if nobody has written them since.
  const reverted = wanted.filter((change) => memoryRole(change.path) === "memory" || isCurrent(change));
  const stale = reverted.filter((change) => !isCurrent(change)).map(({ path }) => path);
  if (stale.length > 0) return { kind: "conflict", paths: stale };
  const earlier = new RecordedFiles();
  for (const one of history.slice(at + 1).toReversed()) earlier.add(one);
  const changes: MemoryChange[] = [];
  const gone: string[] = [];
  for (const { path, before, after } of reverted) {
    const text = before === undefined ? undefined : await state.text(before);
    if (before !== undefined && text === undefined) {
      // The history has no text of an index with a key in it, nor of a log that named a forgotten memory.
      if (memoryRole(path) === "memory") gone.push(path);
      continue;
    }
    const trust = earlier.fileByPath.get(path)?.trust ?? "trusted";
    changes.push({ path, expected: after ?? "absent", text, provenance: { at: now, trust } });
  }
  if (gone.length > 0) return { kind: "gone", paths: gone };
  return {
    kind: "planned",
    changeSet: {
      author: "user",
      provenance: { at: now, trust: "trusted" },
      message: `revert ${id}${only === undefined ? "" : ` of ${only}`}: ${revision.message}`,
      changes,
    },
  };
}
