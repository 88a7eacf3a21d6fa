import type { MemoryChange, MemoryProvenance, MemoryRevision } from "../../ports/memories.ts";
import type { MemoryHash, Millis } from "../../schema/brand.ts";
import { parsePointer } from "./memory-index.ts";
import { checkMemoryPath, memoryRole } from "./memory-path.ts";
import { type CommitPlan, type CurrentFile, planCommit } from "./plan-commit.ts";
import type { RecordedFiles } from "./recorded-files.ts";

interface PurgeState {
  readonly currentByPath: ReadonlyMap<string, CurrentFile>;
  readonly recorded: RecordedFiles;
  readonly now: Millis;
}

interface KeptHistory {
  readonly revisions: readonly MemoryRevision[];
  readonly keepText: (hash: MemoryHash) => boolean;
  /** How many revisions lost something. */
  readonly purged: number;
}

type PurgePlan =
  | { readonly kind: "nothing" }
  | {
      readonly kind: "purge";
      readonly paths: readonly string[];
      /** Deletes the files and the lines about them. Undefined if they are gone already. */
      readonly commit: CommitPlan | undefined;
      /** What stays of the history, with that commit in it. Oldest first, as it is given. */
      readonly keep: (history: readonly MemoryRevision[]) => KeptHistory;
    };

/**
 * Removes paths from the directory and its history. Earlier versions of the index and of the logs name them, so of these
 * only the newest text stays, without the lines that do.
 */
export function planPurge(paths: readonly string[], state: PurgeState): PurgePlan {
  const purged = new Set(
    paths.flatMap((path) => {
      const checked = checkMemoryPath(path);
      return checked.kind === "path" && memoryRole(checked.path) !== "index" ? [checked.path] : [];
    }),
  );
  if (purged.size === 0) return { kind: "nothing" };
  const { now, currentByPath } = state;
  const provenance = { at: now, trust: "trusted" } as const;
  const commit = planCommit(
    {
      author: "user",
      provenance,
      message: forgottenMessage,
      changes: [...currentByPath].flatMap(([path, { text }]) => purgeFile({ path, text, purged })),
    },
    state,
  );
  return {
    kind: "purge",
    paths: [...purged].toSorted(),
    commit: commit.kind === "planned" ? commit : undefined,
    keep: (history) => keepHistory(history, purged),
  };
}

const forgottenMessage = "forgotten";

function purgeFile(file: { path: string; text: string; purged: ReadonlySet<string> }): readonly MemoryChange[] {
  const { path, text, purged } = file;
  if (purged.has(path)) return [{ path, expected: "any", text: undefined }];
  const kept = memoryRole(path) === "memory" ? text : dropLines(text, purged);
  return kept === text ? [] : [{ path, expected: "any", text: kept }];
}

function dropLines(text: string, paths: ReadonlySet<string>): string {
  const names = (line: string): boolean =>
    paths.has(parsePointer(line)?.path ?? "") || [...paths].some((path) => line.includes(`(${path})`));
  return text
    .split("\n")
    .filter((line) => !names(line))
    .join("\n");
}

function keepHistory(history: readonly MemoryRevision[], paths: ReadonlySet<string>): KeptHistory {
  const newestByPath = new Map<string, MemoryHash | undefined>();
  for (const { changes } of history)
    for (const { path, after } of changes) if (memoryRole(path) !== "memory") newestByPath.set(path, after);
  let purged = 0;
  const revisions = history.flatMap((revision) => {
    const changes = revision.changes.filter(({ path }) => !paths.has(path));
    if (changes.length === revision.changes.length) return [revision];
    if (revision.message !== forgottenMessage) purged += 1;
    // Its message may say what was forgotten.
    return changes.length === 0 ? [] : [{ ...revision, message: "(partly forgotten)", changes }];
  });
  const keptHashes = new Set(
    revisions.flatMap(({ changes }) =>
      changes.flatMap(({ path, after }) =>
        after !== undefined && (memoryRole(path) === "memory" || newestByPath.get(path) === after) ? [after] : [],
      ),
    ),
  );
  return { revisions: dropSources(revisions, paths), keepText: (hash) => keptHashes.has(hash), purged };
}

/** Names of what was forgotten do not stay as the source of something else. */
const dropSources = (revisions: readonly MemoryRevision[], paths: ReadonlySet<string>): readonly MemoryRevision[] =>
  revisions.map((revision) => ({
    ...revision,
    provenance: dropSourcesIn(revision.provenance, paths),
    changes: revision.changes.map((change) =>
      change.provenance === undefined ? change : { ...change, provenance: dropSourcesIn(change.provenance, paths) },
    ),
  }));

function dropSourcesIn(provenance: MemoryProvenance, paths: ReadonlySet<string>): MemoryProvenance {
  const { derivedFrom } = provenance;
  if (derivedFrom?.some(({ path }) => paths.has(path)) !== true) return provenance;
  return { ...provenance, derivedFrom: derivedFrom.filter(({ path }) => !paths.has(path)) };
}
