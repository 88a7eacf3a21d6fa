import type { Expanded } from "palimpsest/internal/session/expand";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";

export type Original = Extract<Expanded, { readonly bytes: Uint8Array }>;

export interface ExpandedId {
  readonly id: string;
  /** Of the log. */
  readonly path: string;
  readonly expanded: Expanded;
}

/** The original, or why an id does not give one. */
export function originalOf({ id, path, expanded }: ExpandedId): Original | Failure {
  switch (expanded.kind) {
    case "entry":
    case "result":
    case "blob":
      return expanded;
    case "not-found":
      return failure({
        code: exitCode.notFound,
        message: `nothing in ${path} has the id ${id}`,
        hint: "`palimpsest view --json` lists the ids of calls and repairs.",
      });
    case "ambiguous":
      return failure({
        code: exitCode.usage,
        message: `${expanded.candidates.length} entries begin with ${id}`,
        hint: `Write more of the id: ${expanded.candidates.slice(0, 4).join(", ")}${expanded.candidates.length > 4 ? ", …" : ""}`,
      });
    case "unanswered":
      return failure({
        code: exitCode.notFound,
        message: `the call ${id} has no result in ${path}`,
        hint: "Its entry's uuid gives the call itself.",
      });
    case "blob-missing":
      return failure({
        code: exitCode.notFound,
        message: `the blob ${expanded.blob} that holds it is gone or damaged`,
        hint: "Restore the project's blobs folder from a backup.",
      });
  }
}
