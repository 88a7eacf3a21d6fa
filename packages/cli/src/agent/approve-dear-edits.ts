import type { EditApproval, EditApprovalDep } from "palimpsest/internal/context/request/edit-approvals";
import type { PlannedEdit } from "palimpsest/internal/schema/loop-event";

/** Asks the user about one edit. `always`: yes, and not asked again in this session. Must not reject. */
export type AskAboutEdit = (edit: PlannedEdit, signal: AbortSignal) => Promise<EditApproval | "always">;

/** Asks only about edits that cost at least what the user's settings name. Other edits are approved. */
export function approveDearEdits(
  ask: AskAboutEdit,
  askAboveDollars: () => number | undefined,
): NonNullable<EditApprovalDep["approveEdit"]> {
  let isAlways = false;
  return async (edit, signal) => {
    const limit = askAboveDollars() ?? Infinity;
    if (isAlways || edit.costNanos === undefined || edit.costNanos < limit * 1e9) return "yes";
    const answer = await ask(edit, signal);
    isAlways = answer === "always";
    return answer === "always" ? "yes" : answer;
  };
}
