import { type CacheRates, ratesForModel } from "../../cache/cache-rates.ts";
import type { PipelineState, CompactionState } from "../../layers/pipeline-state.ts";
import type { ServerWant } from "../../layers/server/server-use.ts";
import { type Millis, millis } from "../../schema/brand.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import type { Conversation } from "../conversation.ts";
import type { EditableLine } from "../line.ts";
import type { CacheModel } from "./cache-model.ts";
import { type ClearMoment, inventoryScale } from "../../cache/clear-price.ts";
import { CompactRent, type CompactSize, defaultCompactSize } from "../../cache/compact-price.ts";
import { waitingTokensMax } from "../../layers/4-compact/compaction-budgets.ts";
import { priceCompactionNow } from "../../layers/4-compact/compact-when-due.ts";
import type { CompactRule } from "../../layers/policy.ts";
import type { BoundaryMetadata } from "../../schema/edit.ts";
import { readUsage } from "../../schema/usage.ts";
import type { Thresholds } from "../../tokens/thresholds.ts";
import { findWaitingItems } from "../compact/scope.ts";

/** A conversation whose view the layers may change. */
export interface Clearable {
  readonly conversation: Conversation;
  readonly line: EditableLine;
  readonly cache: CacheModel;
}

interface PipelineStateInput extends Clearable, Pick<PipelineState, "opens" | "offers"> {
  readonly numbers: ResolvedSettings;
  readonly at: Millis;
  /** `no`: it would come to nothing now, so no layer is to propose it. */
  readonly compacts?: "yes" | "no";
}

/** What the layers may look at before a request. Live: valid until the next append. */
export function pipelineState(input: PipelineStateInput): PipelineState {
  const { conversation, line, cache, numbers, at, opens, offers, compacts = "yes" } = input;
  const { inventory, fold } = line;
  const { items, decisions, pins, entriesBroughtBack, withheld } = fold.projection;
  const contextTokens = conversation.line.usedTokens;
  const { fixedTokens } = conversation.line;
  const { repliedAt: last } = cache;
  const moment = { at, rates: ratesFor(input), contextTokens, fixedTokens, needChance: cache.needChance };
  const { compact: rule } = numbers.policy;
  return {
    policy: numbers.policy,
    isOn: (name) => numbers.switches[name].value,
    inventory,
    prefixes: cache.prefixes,
    planner: cache.planner,
    moment,
    thresholds: numbers.thresholds,
    opens,
    idleMillis: last === undefined ? undefined : millis(Math.max(0, at - last)),
    sentTokens: contextTokens + cache.clearedTokens,
    roundsSinceClear: cache.roundsSinceClear(inventory),
    withheld,
    offers,
    ...(rule === undefined || compacts === "no"
      ? {}
      : { compaction: compactionState({ rule, line, cache, moment, thresholds: numbers.thresholds }) }),
    items,
    decisions,
    // What a person brought back stays as what is pinned does, or the same layer would take it away once more.
    pins: entriesBroughtBack.size === 0 ? pins : pins.union(entriesBroughtBack),
    count: inventory.count,
  };
}

/** By what layers decide whether they would make use of what the server offers. */
export const serverWant = (
  { line: { inventory, fold } }: Pick<Clearable, "line">,
  numbers: ResolvedSettings,
): ServerWant => ({
  policy: numbers.policy,
  isOn: (name) => numbers.switches[name].value,
  inventory,
  withheld: fold.projection.withheld,
});

export const ratesFor = ({ conversation, cache }: Clearable): CacheRates =>
  ratesForModel(conversation.known, cache.lifetime);

/** Pinned results, those that a person brought back by an undo, and those that cost nothing since the provider's cache shows them to nobody: not to be cleared. */
export function protectResults({ line: { inventory, fold }, cache }: Pick<Clearable, "line" | "cache">): void {
  const { broughtBack, withheld } = fold.projection;
  for (const toolUse of broughtBack) inventory.keep(toolUse);
  for (const toolUse of withheld) inventory.keep(toolUse);
  for (const toolUse of cache.view.pinnedResults(fold.projection)) inventory.keep(toolUse);
}

interface CompactionStateInput {
  readonly rule: CompactRule;
  readonly line: Pick<EditableLine, "inventory" | "fold">;
  readonly cache: CacheModel;
  readonly moment: ClearMoment;
  readonly thresholds: Pick<Thresholds, "window" | "compact">;
}

/** What compacting this conversation would cost now, and what was paid in rent since its last boundary. */
export function compactionState(input: CompactionStateInput): CompactionState {
  const { rule, line, cache, moment } = input;
  const { inventory } = line;
  const { prefixes } = cache;
  const size = estimateSize(input);
  const rent = new CompactRent();
  rent.accrue({ rates: moment.rates, removableTokens: removableSince(cache, moment.fixedTokens + size.leavesTokens) });
  const keptTokens = countKeptTokens(input) * inventoryScale({ inventory, moment });
  return priceCompactionNow({ rule, size, keptTokens, rent: rent.accrued, inventory, prefixes, moment });
}

/** What the requests since the last boundary held beyond so many tokens, all together. There are at most `rentRoundsMax`. */
function removableSince({ requestTokens }: CacheModel, leftTokens: number): number {
  let removable = 0;
  for (const sentTokens of requestTokens) if (sentTokens > leftTokens) removable += sentTokens - leftTokens;
  return removable;
}

/** As the newest compaction of the session was; as any is taken to be where there was none. */
function estimateSize({ rule, line, cache, moment, thresholds }: CompactionStateInput): CompactSize {
  const { fold, inventory } = line;
  const standIn = defaultCompactSize({ restores: rule.restores, windowTokens: thresholds.window });
  const edit = fold.projection.boundaries.at(-1)?.edit;
  if (edit?.type !== "boundary") return standIn;
  const { postTokens = 0 } = edit.metadata;
  const throughTokens = cache.view.throughTokens(fold.projection.items) * inventoryScale({ inventory, moment });
  const leavesTokens = postTokens - moment.fixedTokens - throughTokens;
  return {
    outputTokens: summaryOutputTokens(edit.metadata) ?? standIn.outputTokens,
    leavesTokens: leavesTokens > 0 ? leavesTokens : standIn.leavesTokens,
  };
}

/** Of the call that the summary came from; undefined where no model wrote it. */
function summaryOutputTokens({ calls = [] }: BoundaryMetadata): number | undefined {
  const usage = calls.at(-1)?.usage;
  return usage === undefined ? undefined : readUsage({ usage })?.output;
}

/** What a compaction would leave as it is. */
function countKeptTokens({ line: { fold, inventory }, cache, thresholds }: CompactionStateInput): number {
  const { count } = inventory;
  const waiting = findWaitingItems(fold, { waitingTokensMax: waitingTokensMax(thresholds), count });
  const waitingTokens = waiting.reduce((all, { blocks }) => blocks.reduce((so, block) => so + count(block), all), 0);
  return waitingTokens + cache.view.pinnedTokens(fold.projection);
}
