import type { LoopEvent } from "../../schema/event.ts";
import type { Numbers } from "../../settings/numbers.ts";
import { contextReport } from "../../tokens/context-report.ts";
import { largestNamedMax } from "../limits.ts";
import { standingOf } from "../compact/standing.ts";
import type { Clearable } from "./clearing-state.ts";

/** Over the limit with nothing left to clear: told once, until the context is below it again. */
export function* headroom({ conversation, line, cache }: Clearable, numbers: Numbers): Generator<LoopEvent> {
  const { thresholds, autoCompact } = numbers;
  const used = conversation.line.usedTokens;
  const { limit } = thresholds;
  if (used < limit) {
    cache.hasHeadroom();
    return;
  }
  if (cache.hasNoHeadroom() === "known") return;
  const { fold, ledger } = line;
  const { categories, largest } = contextReport({
    fold,
    ledger,
    thresholds,
    autoCompact,
    largestMax: largestNamedMax,
  });
  const named = [
    ...categories.map(({ name, tokens }) => ({ what: name, tokens })),
    ...largest.map(({ what, entry, tokens }) => ({ what: `${what} (${entry})`, tokens })),
  ].toSorted((one, other) => other.tokens - one.tokens);
  const because = whyNotCompacted({ conversation, line, cache }, numbers);
  const told = { tokens: used, limit, largest: named.slice(0, largestNamedMax) };
  yield { kind: "no-headroom", ...told, ...(because === undefined ? {} : { because }) };
}

/** Undefined where nobody compacts by itself: then there is nothing to explain. */
function whyNotCompacted({ conversation, line }: Clearable, { policy, autoCompact }: Numbers): string | undefined {
  if (conversation.compacting === undefined || policy.compact === undefined || autoCompact === "off") return undefined;
  const standing = standingOf(line.fold, policy);
  return standing.kind === "may-ask"
    ? "A summary would leave too little room below the threshold; at the hard limit one is made all the same."
    : standing.message;
}
