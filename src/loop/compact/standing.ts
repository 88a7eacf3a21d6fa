import { z } from "zod";
import type { Policy } from "../../layers/policy.ts";
import type { SpentRounds } from "../../schema/edit.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { Path } from "../../transcript/path.ts";
import { autoCallsMax, autoCallsRounds, breakerFailuresMax } from "./limits.ts";
import { callsIn, isAskedFor } from "./spent.ts";

/** Kept as a setting of the session: it goes through boundaries, resumes and undos with the others. */
const breakerName = "compaction.breaker";
const breakerShape = z.object({ failures: z.int().nonnegative() });

/** Automatic compactions that failed in a row. */
export function failuresSoFar({ projection }: Fold): number {
  const kept = projection.settings.get(breakerName);
  // Asked before every request, and mostly there is none: a failed parse costs more than all else here.
  if (kept === undefined) return 0;
  const read = breakerShape.safeParse(kept);
  return read.success ? read.data.failures : 0;
}

export const breakerDraft = (failures: number): Draft => ({
  type: "setting",
  name: breakerName,
  value: { failures },
});

/** After how many: a policy without a number of its own goes on for ever, one without any rule as we do. */
export const breakerOf = ({ summary }: Policy): number =>
  summary === undefined ? breakerFailuresMax : (summary.failures.breakerFailures ?? Infinity);

/** Whether a model may be asked for a summary that nobody asked for. */
export type Standing =
  | { readonly kind: "may-ask" }
  | { readonly kind: "breaker_open" | "spend_limit"; readonly message: string };

export function standingOf(fold: Fold, policy: Policy): Standing {
  const failures = failuresSoFar(fold);
  if (failures >= breakerOf(policy))
    return {
      kind: "breaker_open",
      message: `${failures} automatic compactions in a row have failed: no model is asked for a summary until one succeeds, by hand or without a model at the limit.`,
    };
  const calls = spentLately(fold.path).reduce((sum, spent) => sum + spent.calls, 0);
  return calls < autoCallsMax
    ? { kind: "may-ask" }
    : {
        kind: "spend_limit",
        message: `${calls} calls for summaries were paid for in the last ${autoCallsRounds} rounds: no more until more work is done between them.`,
      };
}

/** Paid calls for summaries in the newest rounds, also in those before the boundary at which the log was read. Costs a look at these rounds. */
export function spentLately(path: Path): readonly SpentRounds[] {
  const replies = new Set<string>();
  const spent: SpentRounds[] = [];
  for (let at = path.length - 1; at >= 0 && replies.size <= autoCallsRounds; at -= 1) {
    const entry = path.at(at)?.entry;
    if (entry?.kind === "assistant" && !entry.synthetic) replies.add(entry.messageId ?? entry.id ?? "");
    if (entry?.kind !== "edit") continue;
    const calls = isAskedFor(entry) ? 0 : callsIn(entry).length;
    if (calls > 0) spent.push({ calls, roundsAgo: replies.size });
    if (at > 0 || entry.edit.type !== "boundary") continue;
    for (const before of entry.edit.metadata.chain?.spent ?? [])
      spent.push({ calls: before.calls, roundsAgo: before.roundsAgo + replies.size });
  }
  return spent.filter(({ roundsAgo }) => roundsAgo <= autoCallsRounds);
}
