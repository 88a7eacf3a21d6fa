import type { SessionContext } from "palimpsest/internal/context/session-context";
import { manualDownToTokens } from "palimpsest/internal/layers/2-clear/limits";
import type { ClearedEvent } from "palimpsest/internal/layers/layer";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { formatNumber } from "../text/format.ts";

type ClearOutcome =
  /** `cleared` is one of the events; undefined: there was nothing to clear. */
  | { readonly kind: "done"; readonly cleared: ClearedEvent | undefined; readonly events: readonly LoopEvent[] }
  | WriteFailure;

/**
 * Clearing at the user's request, for `palimpsest clear` and the chat's `/clear-results`. Results of this size stay. Resolves
 * when the clearing is synced: it is reported only once a power cut can no longer undo it.
 */
export async function clearResults(context: SessionContext, downToTokens: number): Promise<ClearOutcome> {
  const events: LoopEvent[] = [];
  const cleared = await drainEvents(context.compaction.clear(downToTokens), (event) => events.push(event));
  if (cleared?.kind === "failed") return cleared;
  const ended = await context.session.endTurn();
  return ended.kind === "failed" ? ended : { kind: "done", cleared, events };
}

type ClearTarget =
  | { readonly kind: "target"; readonly tokens: number }
  | { readonly kind: "not-a-number"; readonly message: string };

/** As it was typed; undefined or empty: the default. */
export function parseClearTarget(typed: string | undefined): ClearTarget {
  if (typed === undefined || typed === "") return { kind: "target", tokens: manualDownToTokens };
  if (/^\d{1,9}$/.test(typed)) return { kind: "target", tokens: Number(typed) };
  return { kind: "not-a-number", message: `takes a whole number of tokens, not ${JSON.stringify(typed)}` };
}

export const clearTargetSummary = `how many tokens of results may stay (default ${formatNumber(manualDownToTokens)})`;

/** `96,300 → 55,280 tokens` */
export const tokensChangeText = ({ tokensBefore, tokensAfter }: ClearedEvent): string =>
  `${formatNumber(tokensBefore)} → ${formatNumber(tokensAfter)} tokens`;

export const nothingToClear = (downToTokens: number): string =>
  `nothing to clear: tool results have ${formatNumber(downToTokens)} tokens or less, or only results that always stay are left`;

/** What a generator returns; each event before it is passed to the callback, if there is one. */
export async function drainEvents<Event, Result>(
  events: AsyncGenerator<Event, Result>,
  tell: (event: Event) => void = () => {},
): Promise<Result> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return next.value;
    tell(next.value);
  }
}
