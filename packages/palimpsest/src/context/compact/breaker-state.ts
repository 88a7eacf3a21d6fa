import { z } from "zod";
import type { Policy } from "../../layers/policy.ts";
import type { SpentRounds } from "../../schema/edit.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { Path } from "../../transcript/path.ts";
import { autoCallsMax, autoCallsRounds, breakerFailuresMax, breakerRestRounds, unusableRestRounds } from "./limits.ts";
import { compactionCallsIn, isRequestedByUser } from "../past-costs.ts";
import type { CostSource } from "../../cache/cost-ledger.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { userTypedText } from "../../transcript/user-text.ts";

/** Kept as a setting of the session: it goes through boundaries, resumes and undos with the others. */
const breakerName = "compaction.breaker";
const breakerShape = z.object({ failures: z.int().nonnegative(), answer: z.literal("unusable").optional() });

type Breaker = z.infer<typeof breakerShape>;

const noFailures: Breaker = { failures: 0 };

function readBreaker({ projection }: Fold): Breaker {
  const kept = projection.settings.get(breakerName);
  // Asked before every request, and mostly there is none: a failed parse costs more than all else here.
  if (kept === undefined) return noFailures;
  const read = breakerShape.safeParse(kept);
  return read.success ? read.data : noFailures;
}

/** Summaries in a row that nobody asked for and that the summariser failed at, whatever took their place. */
export const countFailures = (fold: Fold): number => readBreaker(fold).failures;

/** `unusable`: the last of these failures was an answer that is no summary, and was paid for. */
export const breakerDraft = (failures: number, answer?: "unusable"): Draft => ({
  type: "setting",
  name: breakerName,
  value: { failures, ...(answer === undefined ? {} : { answer }) },
});

/** After how many: a policy without a number of its own goes on for ever, one without any rule as we do. */
export const breakerLimit = ({ summary }: Policy): number =>
  summary === undefined ? breakerFailuresMax : (summary.failures.breakerFailures ?? Infinity);

/** Whether a model may be asked for a summary that nobody asked for. */
type BreakerState =
  | { readonly kind: "may-ask" }
  | { readonly kind: "breaker_open" | "spend_limit"; readonly message: string };

/**
 * The breaker is closed; open for some rounds of work behind a failure; then half open: one summary is asked for, and its
 * failure opens it again for as long.
 */
export function breakerState(fold: Fold, policy: Policy): BreakerState {
  const rest = restAfter(readBreaker(fold), policy);
  if (rest !== undefined && roundsSinceFailure(fold.path) < rest.rounds)
    return { kind: "breaker_open", message: rest.message };
  const calls = findRecentCalls(fold.path).reduce((sum, spent) => sum + spent.calls, 0);
  return calls < autoCallsMax
    ? { kind: "may-ask" }
    : {
        kind: "spend_limit",
        message: `${calls} calls for summaries were paid for in the last ${autoCallsRounds} rounds: no more until more work is done between them.`,
      };
}

interface BreakerRest {
  readonly rounds: number;
  /** One line for the user. */
  readonly message: string;
}

/** Undefined: the next summary may be asked for at once. */
function restAfter({ failures, answer }: Breaker, policy: Policy): BreakerRest | undefined {
  if (failures >= breakerLimit(policy))
    return {
      rounds: breakerRestRounds,
      message: `${failures} automatic compactions in a row got no summary: no model is asked for one in the next ${breakerRestRounds} rounds, unless by hand.`,
    };
  if (answer !== "unusable" || policy.compact?.lastRung !== "extract") return undefined;
  return {
    rounds: unusableRestRounds,
    message: `The last answer was no summary, and the text to summarise is nearly the same: no model is asked again in the next ${unusableRestRounds} rounds, unless by hand.`,
  };
}

/** Replies behind the newest failure that the breaker counts, also where it stands before the boundary at which the log was read. */
function roundsSinceFailure(path: Path): number {
  const replies = new Set<string>();
  for (let at = path.length - 1; at >= 0 && replies.size < breakerRestRounds; at -= 1) {
    const entry = path.at(at)?.entry;
    if (entry?.kind === "assistant" && !entry.synthetic) replies.add(entry.messageId ?? entry.id ?? "");
    if (entry?.kind !== "edit") continue;
    if (entry.edit.type === "setting" && entry.edit.name === breakerName) break;
    if (at === 0 && entry.edit.type === "boundary")
      return replies.size + (entry.edit.metadata.chain?.roundsSinceFailure ?? 0);
  }
  return replies.size;
}

/** Paid calls for summaries in the newest rounds, also in those before the boundary at which the log was read. Costs a look at these rounds. */
export function findRecentCalls(path: Path): readonly SpentRounds[] {
  const replies = new Set<string>();
  const spent: SpentRounds[] = [];
  for (let at = path.length - 1; at >= 0 && replies.size <= autoCallsRounds; at -= 1) {
    const entry = path.at(at)?.entry;
    if (entry?.kind === "assistant" && !entry.synthetic) replies.add(entry.messageId ?? entry.id ?? "");
    if (entry?.kind !== "edit") continue;
    const calls = isRequestedByUser(entry) ? 0 : compactionCallsIn(entry).length;
    if (calls > 0) spent.push({ calls, roundsAgo: replies.size });
    if (at > 0 || entry.edit.type !== "boundary") continue;
    for (const before of entry.edit.metadata.chain?.spent ?? [])
      spent.push({ calls: before.calls, roundsAgo: before.roundsAgo + replies.size });
  }
  return spent.filter(({ roundsAgo }) => roundsAgo <= autoCallsRounds);
}

/** How a compaction follows the one before it: short chains are a sign that something fills the window. */
interface CompactionChain {
  /** The boundary before; absent for the first. */
  readonly previous?: EntryId;
  /** How many boundaries are in force already. */
  readonly boundaries: number;
  readonly turnsSince: number;
  readonly roundsSince: number;
  readonly thresholdTokens: number;
  readonly source: CostSource;
  /** What the spend guard must know of the rounds before it. */
  readonly spent: readonly SpentRounds[];
  /** And the breaker. */
  readonly roundsSinceFailure?: number;
}

/** Costs a walk along what was said since the boundary before. */
export function computeChain(
  fold: Fold,
  { numbers, source }: { readonly numbers: ResolvedSettings; readonly source: CostSource },
): CompactionChain {
  const { path, projection } = fold;
  const previous = projection.boundaries.at(-1)?.id;
  const after = previous === undefined ? 0 : path.findLastIndex(({ entry }) => entry.id === previous) + 1;
  const since = path.loggedFrom(after).map(({ entry }) => entry);
  const replies = since.flatMap((entry) =>
    entry.kind === "assistant" && !entry.synthetic ? [entry.messageId ?? entry.id] : [],
  );
  return {
    ...(previous === undefined ? {} : { previous }),
    boundaries: boundariesBefore(path) + projection.boundaries.length,
    turnsSince: since.filter((entry) => userTypedText(entry) !== undefined).length,
    roundsSince: new Set(replies).size,
    thresholdTokens: numbers.thresholds.compact,
    source,
    spent: findRecentCalls(path),
    ...(countFailures(fold) === 0 ? {} : { roundsSinceFailure: roundsSinceFailure(path) }),
  };
}

/** Of a log that was read from a boundary on: how many that one follows. */
function boundariesBefore(path: Path): number {
  const first = path.at(0)?.entry;
  return first?.kind === "edit" && first.edit.type === "boundary" ? (first.edit.metadata.chain?.boundaries ?? 0) : 0;
}
