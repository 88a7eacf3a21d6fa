import type { EntryId } from "../schema/brand.ts";
import type { BoundaryMetadata } from "../schema/edit.ts";
import type { Entry } from "../schema/entry.ts";
import { contextTokens, requestTokens } from "../schema/usage.ts";

/** What a log knows of a boundary that has no receipt. Sizes are of the whole context, as a provider or the tool counted it. */
export interface BoundaryFacts {
  readonly trigger: string | undefined;
  readonly tokensBefore: number | undefined;
  readonly tokensAfter: number | undefined;
}

/** Of every boundary on a path. Where its own line is silent: the reply before it, and the request of the next one. */
export function boundaryFacts(path: readonly Entry[]): ReadonlyMap<EntryId, BoundaryFacts> {
  const facts = new Map<EntryId, BoundaryFacts>();
  let before: number | undefined;
  let open: EntryId | undefined;
  for (const entry of path) {
    if (entry.kind === "edit" && entry.edit.type === "boundary") {
      const { metadata } = entry.edit;
      const tokensAfter = afterIn(metadata);
      facts.set(entry.id, { trigger: metadata.trigger, tokensBefore: metadata.preTokens ?? before, tokensAfter });
      open = tokensAfter === undefined ? entry.id : undefined;
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

/** Some tools write it; it is no part of the form that all of them share. */
function afterIn(metadata: BoundaryMetadata): number | undefined {
  const after = metadata["postTokens"];
  return typeof after === "number" ? after : undefined;
}
