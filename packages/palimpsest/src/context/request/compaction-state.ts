import { type ClearMoment, scaleOf } from "../../cache/clear-price.ts";
import { CompactRent, type CompactSize, compactSizeStandIn } from "../../cache/compact-price.ts";
import { waitingTokensMax } from "../../layers/4-compact/budgets.ts";
import { compactionNow } from "../../layers/4-compact/price-now.ts";
import type { CompactionState } from "../../layers/pipeline-state.ts";
import type { CompactRule } from "../../layers/policy.ts";
import type { BoundaryMetadata } from "../../schema/edit.ts";
import { readUsage } from "../../schema/usage.ts";
import type { Thresholds } from "../../tokens/thresholds.ts";
import { waitingIn } from "../compact/scope.ts";
import type { EditableLine } from "../line.ts";
import type { ReckonedCache } from "./reckoned-cache.ts";

export interface CompactionInput {
  readonly rule: CompactRule;
  readonly line: Pick<EditableLine, "inventory" | "fold">;
  readonly cache: ReckonedCache;
  readonly moment: ClearMoment;
  readonly thresholds: Pick<Thresholds, "window" | "compact">;
}

/** What compacting this conversation would cost now, and what was paid in rent since its last boundary. */
export function compactionState(input: CompactionInput): CompactionState {
  const { rule, line, cache, moment } = input;
  const { inventory } = line;
  const { prefixes } = cache;
  const size = sizeOf(input);
  const rent = new CompactRent();
  rent.paid({ rates: moment.rates, removableTokens: removableSince(cache, moment.fixedTokens + size.leavesTokens) });
  const keptTokens = keptOf(input) * scaleOf({ inventory, moment });
  return compactionNow({ rule, size, keptTokens, rent: rent.accrued, inventory, prefixes, moment });
}

/** What the requests since the last boundary held beyond so many tokens, all together. There are at most `rentRoundsMax`. */
function removableSince({ requestTokens }: ReckonedCache, leftTokens: number): number {
  let removable = 0;
  for (const sentTokens of requestTokens) if (sentTokens > leftTokens) removable += sentTokens - leftTokens;
  return removable;
}

/** As the newest compaction of the session was; as any is taken to be where there was none. */
function sizeOf({ rule, line, cache, moment, thresholds }: CompactionInput): CompactSize {
  const { fold, inventory } = line;
  const standIn = compactSizeStandIn({ restores: rule.restores, windowTokens: thresholds.window });
  const edit = fold.projection.boundaries.at(-1)?.edit;
  if (edit?.type !== "boundary") return standIn;
  const { postTokens = 0 } = edit.metadata;
  const throughTokens = cache.view.throughTokens(fold.projection.items) * scaleOf({ inventory, moment });
  const leavesTokens = postTokens - moment.fixedTokens - throughTokens;
  return {
    outputTokens: outputOf(edit.metadata) ?? standIn.outputTokens,
    leavesTokens: leavesTokens > 0 ? leavesTokens : standIn.leavesTokens,
  };
}

/** Of the call that the summary came from; undefined where no model wrote it. */
function outputOf({ calls = [] }: BoundaryMetadata): number | undefined {
  const usage = calls.at(-1)?.usage;
  return usage === undefined ? undefined : readUsage({ usage })?.output;
}

/** What a compaction would leave as it is. */
function keptOf({ line: { fold, inventory }, cache, thresholds }: CompactionInput): number {
  const { count } = inventory;
  const waiting = waitingIn(fold, { waitingTokensMax: waitingTokensMax(thresholds), count });
  const waitingTokens = waiting.reduce((all, { blocks }) => blocks.reduce((so, block) => so + count(block), all), 0);
  return waitingTokens + cache.view.pinnedTokens(fold.projection);
}
