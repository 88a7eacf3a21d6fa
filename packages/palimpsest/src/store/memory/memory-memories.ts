import { describeMemory, withoutText } from "../../memory/directory/describe-memory.ts";
import { checkMemoryPath } from "../../memory/directory/memory-path.ts";
import {
  checkChangeSet,
  type CommitPlan,
  type CurrentFile,
  findMemorySecrets,
  planCommit,
} from "../../memory/directory/plan-commit.ts";
import { planPurge } from "../../memory/directory/plan-purge.ts";
import { RecordedFiles } from "../../memory/directory/recorded-files.ts";
import { ruleScanner } from "../../memory/redact-secrets.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Memories, MemoryRevision, MemoryText } from "../../ports/memories.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import type { MemoryHash } from "../../schema/brand.ts";

interface MemoryMemoriesOptions {
  readonly deps: ClockDep;
  readonly scanner?: SecretScanner | undefined;
}

/** Memories that exist as long as the object does. */
export function memoryMemories({ deps, scanner = ruleScanner }: MemoryMemoriesOptions): Memories {
  let recorded = new RecordedFiles();
  let revisions: MemoryRevision[] = [];
  const fileByPath = new Map<string, CurrentFile>();
  const textByHash = new Map<MemoryHash, string>();
  const carryOut = (plan: CommitPlan): void => {
    for (const [hash, text] of plan.textByHash) textByHash.set(hash, text);
    for (const { path, after } of plan.revision.changes) {
      const text = after === undefined ? undefined : textByHash.get(after);
      if (after === undefined || text === undefined) fileByPath.delete(path);
      else fileByPath.set(path, { hash: after, text });
    }
    revisions.push(plan.revision);
    recorded.add(plan.revision);
  };
  const describe = (path: string): MemoryText | undefined => {
    const [file, known] = [fileByPath.get(path), recorded.fileByPath.get(path)];
    if (file === undefined || known === undefined) return undefined;
    return describeMemory({ path, file, modifiedMs: known.at, recorded: known });
  };
  return {
    list: async () =>
      [...fileByPath.keys()].toSorted().flatMap((path) => {
        const memory = describe(path);
        return memory === undefined ? [] : [withoutText(memory)];
      }),
    read: async (path) => {
      const checked = checkMemoryPath(path);
      return checked.kind === "wrong" ? undefined : describe(checked.path);
    },
    commit: async (changeSet) => {
      const checked = checkChangeSet(changeSet);
      if (checked.kind === "invalid") return checked;
      const secrets = await findMemorySecrets(scanner, checked.changeSet);
      if (secrets.length > 0) return { kind: "refused", secrets };
      const plan = planCommit(checked.changeSet, { currentByPath: fileByPath, recorded, now: deps.now() });
      if (plan.kind !== "planned") return plan;
      carryOut(plan);
      return { kind: "committed", revision: plan.revision, leftOut: plan.leftOut };
    },
    history: async (path) =>
      revisions
        .filter(({ changes }) => path === undefined || changes.some((change) => change.path === path))
        .toReversed(),
    text: async (hash) => textByHash.get(hash),
    purge: async (paths) => {
      const plan = planPurge(paths, { currentByPath: fileByPath, recorded, now: deps.now() });
      if (plan.kind === "nothing") return { kind: "purged", paths: [], revisions: 0 };
      if (plan.commit !== undefined) carryOut(plan.commit);
      const last = revisions.at(-1)?.id;
      const kept = plan.keep(revisions);
      revisions = [...kept.revisions];
      for (const hash of textByHash.keys()) if (!kept.keepText(hash)) textByHash.delete(hash);
      recorded = new RecordedFiles();
      for (const revision of revisions) recorded.add(revision);
      if (last !== undefined) recorded.countUpTo(last);
      return { kind: "purged", paths: plan.paths, revisions: kept.purged };
    },
  };
}
