import { z } from "zod";
import type { FailureRule, Policy } from "../../layers/policy.ts";
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

/** Kept as a setting of the session, so that it survives boundaries, resumes and undos. */
const breakerName = "compaction.breaker";
const breakerShape = z.object({ failures: z.int().nonnegative(), answer: z.literal("unusable").optional() });

type Breaker = z.infer<typeof breakerShape>;

const noFailures: Breaker = { failures: 0 };

function readBreaker({ projection }: Fold): Breaker {
  const setting = projection.settings.get(breakerName);
  // Read before every request, and usually absent: a failed parse would cost more than everything else here.
  if (setting === undefined) return noFailures;
  const read = breakerShape.safeParse(setting);
  return read.success ? read.data : noFailures;
}

/** Automatic summaries in a row at which the summariser failed, whatever replaced them. */
export const countFailures = (fold: Fold): number => readBreaker(fold).failures;

/** `unusable`: the last of these failures was a paid answer that is not a summary. */
export const breakerDraft = (failures: number, answer?: "unusable"): Draft => ({
  type: "setting",
  name: breakerName,
  value: { failures, ...(answer === undefined ? {} : { answer }) },
});

/** A policy without a rule for summaries has ours. */
const failureRule = ({ summary }: Policy): Omit<FailureRule, "retriesMax" | "reactive"> =>
  summary?.failures ?? {
    breakerFailures: breakerFailuresMax,
    breakerRestRounds,
    callsMax: { calls: autoCallsMax, inRounds: autoCallsRounds },
  };

/** Failures after which the breaker opens. A policy whose rule has no number never opens it. */
export const breakerLimit = (policy: Policy): number => failureRule(policy).breakerFailures ?? Infinity;

/** May a model be called for an automatic summary? */
type BreakerState =
  | { readonly kind: "may-ask" }
  | { readonly kind: "breaker_open" | "spend_limit"; readonly message: string };

/**
 *   closed ──a failure too many──▶ open for some rounds ──▶ half open: one summary is tried
 *   half open ──it fails──▶ open for as long again       half open ──it succeeds──▶ closed
 */
export function breakerState(fold: Fold, policy: Policy): BreakerState {
  const rest = restAfter(readBreaker(fold), policy);
  if (rest !== undefined && roundsSinceFailure(fold.path) < rest.rounds)
    return { kind: "breaker_open", message: rest.message };
  const { callsMax } = failureRule(policy);
  if (callsMax === undefined) return { kind: "may-ask" };
  const { calls: limit, inRounds } = callsMax;
  const calls = findRecentCalls(fold.path).reduce(
    (sum, spent) => (spent.roundsAgo <= inRounds ? sum + spent.calls : sum),
    0,
  );
  return calls < limit
    ? { kind: "may-ask" }
    : {
        kind: "spend_limit",
        message: `${calls} calls for summaries were paid for in the last ${inRounds} rounds: no more until more work is done between them.`,
      };
}

interface BreakerRest {
  readonly rounds: number;
  /** One line for the user. */
  readonly message: string;
}

/** Undefined if the next summary may be tried at once. */
function restAfter({ failures, answer }: Breaker, policy: Policy): BreakerRest | undefined {
  if (failures >= breakerLimit(policy)) {
    const { breakerRestRounds: rounds = Infinity } = failureRule(policy);
    const when = rounds === Infinity ? "again" : `in the next ${rounds} rounds`;
    return {
      rounds,
      message: `${failures} automatic compactions in a row got no summary: no model is asked for one ${when}, unless by hand.`,
    };
  }
  if (answer !== "unusable" || policy.compact?.lastRung !== "extract") return undefined;
  return {
    rounds: unusableRestRounds,
    message: `The last answer was no summary, and the text to summarise is nearly the same: no model is asked again in the next ${unusableRestRounds} rounds, unless by hand.`,
  };
}

/** Replies since the newest failure that the breaker counts, even if it lies before the boundary at which the log was opened. */
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

/**
 * Paid calls for summaries in the newest rounds, including rounds before the boundary at which the log was opened. Visits
 * only these rounds.
 */
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

/** How a compaction follows the previous one: short distances are a sign that something fills the window. */
interface CompactionChain {
  /** The previous boundary; absent for the first. */
  readonly previous?: EntryId;
  /** Number of boundaries that are already in force. */
  readonly boundaries: number;
  readonly turnsSince: number;
  readonly roundsSince: number;
  readonly thresholdTokens: number;
  readonly source: CostSource;
  /** For the spend limit: paid calls in the rounds before. */
  readonly spent: readonly SpentRounds[];
  /** For the breaker. */
  readonly roundsSinceFailure?: number;
}

/** Visits the entries since the previous boundary. */
export function computeChain(
  fold: Fold,
  { settings, source }: { readonly settings: ResolvedSettings; readonly source: CostSource },
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
    thresholdTokens: settings.thresholds.compact,
    source,
    spent: findRecentCalls(path),
    ...(countFailures(fold) === 0 ? {} : { roundsSinceFailure: roundsSinceFailure(path) }),
  };
}

/** For a log that was opened at a boundary: the number of boundaries before it. */
function boundariesBefore(path: Path): number {
  const first = path.at(0)?.entry;
  return first?.kind === "edit" && first.edit.type === "boundary" ? (first.edit.metadata.chain?.boundaries ?? 0) : 0;
}
