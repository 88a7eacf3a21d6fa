import { field, isArray, type JsonObject } from "../schema/json.ts";
import { approvedKey, refusedKey } from "../schema/tool-server.ts";
import type { LeaveAdded } from "./add-leave.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { readOwn, refused, writeOwn } from "./own-file.ts";

export interface Approving {
  /** Of the person's own settings file; it need not be there. */
  readonly path: string;
  /** As `pendingApprovals` gives them. */
  readonly approvals: readonly string[];
  readonly as: "approved" | "refused";
}

const keyOf = { approved: approvedKey, refused: refusedKey } as const;

/**
 * Writes down of which definitions a person has approved, or which they want to hear of no more, and keeps everything else of the file. Two processes that write
 * at the same instant may lose one: the person is asked again.
 */
export async function approveServers(deps: ReplaceFileDep, { path, approvals, as }: Approving): Promise<LeaveAdded> {
  const read = await readOwn(path);
  if (read.kind === "refused") return read;
  const key = keyOf[as];
  const before = field(read.settings, key) ?? [];
  if (!isArray(before)) return refused(path, `its ${key} is no list`);
  const news = [...new Set(approvals)].filter((one) => !before.includes(one));
  if (news.length === 0) return { kind: "known" };
  const settings: JsonObject = { ...read.settings, [key]: [...before, ...news] };
  const failure = await writeOwn(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}
