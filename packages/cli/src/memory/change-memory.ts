import type {
  Memories,
  MemoryChange,
  MemoryCommitOutcome,
  MemoryPurgeOutcome,
} from "palimpsest/internal/ports/memories";
import type { Millis, SessionId } from "palimpsest/internal/schema/brand";
import { exitCode, failure, type Failure } from "../program/failure.ts";

/** A change that the user asked for: what they write is trusted. */
export interface UserChange {
  readonly changes: readonly MemoryChange[];
  readonly message: string;
  readonly at: Millis;
  readonly session?: SessionId | undefined;
}

export const commitAsUser = (
  memories: Memories,
  { changes, message, at, session }: UserChange,
): Promise<MemoryCommitOutcome> =>
  memories.commit({ author: "user", message, changes, provenance: { at, session, trust: "trusted" } });

type Unwritten = Exclude<MemoryCommitOutcome | MemoryPurgeOutcome, { kind: "committed" | "unchanged" | "purged" }>;

/** Why nothing was written and what to do about it. */
export function writeRefusal(outcome: Unwritten): Failure {
  switch (outcome.kind) {
    case "conflict":
      return failure({
        code: exitCode.refused,
        message: `${outcome.paths.join(", ")} changed meanwhile, so nothing was written`,
        hint: "Look at it again, then repeat your change.",
      });
    case "refused": {
      // Without the path: that of a new memory is made from its words.
      const places = outcome.secrets.map(({ kind, line }) => `${kind}${line === 0 ? "" : ` in line ${line}`}`);
      return failure({
        code: exitCode.refused,
        message: `this looks like a secret, and memories hold none: ${[...new Set(places)].join(", ")}`,
        hint: "Take it out, and say where it is kept instead.",
      });
    }
    case "invalid":
      return failure({ code: exitCode.refused, message: `${outcome.path} was not written: ${outcome.message}` });
    case "busy":
      return failure({
        code: exitCode.busy,
        message: `the memories are being written by ${outcome.holder}`,
        hint: "Try again in a moment.",
      });
    case "failed":
      return failure({ code: exitCode.machine, message: outcome.message });
  }
}
