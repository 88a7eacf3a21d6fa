import { revertMemories } from "palimpsest/internal/memory/directory/revert-memories";
import type { Memories } from "palimpsest/internal/ports/memories";
import { type Millis, memoryRevisionId } from "palimpsest/internal/schema/brand";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { writeRefusal } from "./change-memory.ts";

interface RevertRequest {
  readonly revision: string;
  /** Only this file of the revision. */
  readonly path?: string | undefined;
  readonly at: Millis;
}

/** Puts back what a revision changed. The revert is a revision too, so it can be taken back in turn. */
export async function revertMemory(
  memories: Memories,
  { revision, path, at }: RevertRequest,
): Promise<{ readonly kind: "reverted"; readonly message: string; readonly revision: string } | Failure> {
  const outcome = await revertMemories(memories, { revision: memoryRevisionId(revision), path, now: at });
  switch (outcome.kind) {
    case "unknown-revision":
      return failure({
        code: exitCode.notFound,
        message: `there is no revision ${revision}${path === undefined ? "" : ` of ${path}`}`,
        hint: "`palimpsest memory log` lists them.",
      });
    case "gone":
      return failure({
        code: exitCode.refused,
        message: `the earlier text of ${outcome.paths.join(", ")} was forgotten, so nothing was changed`,
      });
    case "conflict":
      return failure({
        code: exitCode.refused,
        message: `${outcome.paths.join(", ")} changed after revision ${revision}, so nothing was changed`,
        hint: "Revert the later revisions first, or edit the memory.",
      });
    case "unchanged":
      return { kind: "reverted", revision, message: "It is like that already: nothing was changed." };
    case "committed": {
      const files = outcome.revision.changes.map((change) => change.path).filter((one) => one !== "MEMORY.md");
      const message = `Revision ${revision} was taken back (${files.join(", ")}) by revision ${outcome.revision.id}, which can be reverted too.`;
      return { kind: "reverted", revision: outcome.revision.id, message };
    }
    case "refused":
    case "invalid":
    case "busy":
    case "failed":
      return writeRefusal(outcome);
  }
}
