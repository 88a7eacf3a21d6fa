import { approvedKey, refusedKey } from "palimpsest/internal/schema/tool-server";
import type { LeaveAdded } from "./add-leave.ts";
import { addToList } from "./add-to-list.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";

export interface Approving {
  /** Of the person's own settings file; it need not be there. */
  readonly path: string;
  /** As `pendingApprovals` gives them. */
  readonly approvals: readonly string[];
  readonly as: "approved" | "refused";
}

const keyOf = { approved: approvedKey, refused: refusedKey } as const;

/** Writes down of which definitions a person has approved, or which they want to hear of no more. */
export const approveServers = (deps: ReplaceFileDep, { path, approvals, as }: Approving): Promise<LeaveAdded> =>
  addToList(deps, { path, key: keyOf[as], items: approvals });
