import type { EntryId } from "palimpsest/internal/schema/brand";
import type { BoundaryMetadata, PaidCall } from "palimpsest/internal/schema/edit";
import type { Entry } from "palimpsest/internal/schema/entry";
import { contextTokens, requestTokens } from "palimpsest/internal/schema/usage";

/** What a log knows of a boundary besides its receipt. Sizes are of the whole context, as a provider or the tool counted it. */
export interface BoundaryFacts {
  readonly trigger: string | undefined;
  readonly tokensBefore: number | undefined;
  readonly tokensAfter: number | undefined;
  /** What produced the summary. */
  readonly path: string | undefined;
  /** 0 to 1. */
  readonly auditScore: number | undefined;
  readonly messagesSummarised: number | undefined;
  readonly durationMillis: number | undefined;
  readonly instructions: string | undefined;
  /** Requests for the summary that were answered. */
  readonly calls: readonly PaidCall[];
  /** Of these calls, as it was booked then. */
  readonly bookedNanos: number | undefined;
  /** What was done to the summary, and why notes were passed over; a line each. */
  readonly changes: readonly string[];
  readonly chain: BoundaryMetadata["chain"];
}

/** Of every boundary on a path. Where its own line is silent: the reply before it, and the request of the next one. */
export function boundaryFacts(path: readonly Entry[]): ReadonlyMap<EntryId, BoundaryFacts> {
  const facts = new Map<EntryId, BoundaryFacts>();
  let before: number | undefined;
  let open: EntryId | undefined;
  for (const entry of path) {
    if (entry.kind === "edit" && entry.edit.type === "boundary") {
      const { metadata } = entry.edit;
      facts.set(entry.id, { ...factsIn(metadata), tokensBefore: metadata.preTokens ?? before });
      open = metadata.postTokens === undefined ? entry.id : undefined;
      before = undefined;
    }
    if (entry.kind !== "assistant" || entry.usage === undefined) continue;
    before = contextTokens(entry.usage);
    const waiting = open === undefined ? undefined : facts.get(open);
    if (open !== undefined && waiting !== undefined)
      facts.set(open, { ...waiting, tokensAfter: requestTokens(entry.usage) });
    open = undefined;
  }
  return facts;
}

const factsIn = (metadata: BoundaryMetadata): Omit<BoundaryFacts, "tokensBefore"> => ({
  trigger: metadata.trigger,
  tokensAfter: metadata.postTokens,
  path: metadata.path,
  auditScore: metadata.audit?.score,
  messagesSummarised: metadata.messagesSummarized,
  durationMillis: metadata.durationMs,
  instructions: metadata.instructions,
  calls: metadata.calls ?? [],
  bookedNanos: metadata.costNanos,
  changes: metadata.changes ?? [],
  chain: metadata.chain,
});
