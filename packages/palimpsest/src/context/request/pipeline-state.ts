import { type CacheRates, type CallRates, callRates, priceInputToken, ratesForModel } from "../../cache/cache-rates.ts";
import { countContext, shiftThresholds } from "../../layers/count-context.ts";
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
import { findModel } from "../../tokens/known-models.ts";
import type { Thresholds } from "../../tokens/thresholds.ts";
import { findWaitingItems } from "../compact/scope.ts";

/** A conversation whose view the layers may change. */
export interface Clearable {
  readonly conversation: Conversation;
  readonly line: EditableLine;
  readonly cache: CacheModel;
}

interface PipelineStateInput extends Clearable, Pick<PipelineState, "opens" | "offers"> {
  readonly settings: ResolvedSettings;
  readonly at: Millis;
  /** `no`: a compaction would fail now, so no layer should propose it. */
  readonly compacts?: "yes" | "no";
}

/** What the layers may read before a request. Live: valid until the next append. */
export function pipelineState(input: PipelineStateInput): PipelineState {
  const { conversation, line, cache, settings, at, opens, offers, compacts = "yes" } = input;
  const { inventory, fold } = line;
  const { items, decisions, pins, entriesBroughtBack, withheld } = fold.projection;
  const contextTokens = conversation.line.usedTokens;
  const { fixedTokens } = conversation.line;
  const { repliedAt } = cache;
  const moment = {
    at,
    rates: ratesFor(input),
    contextTokens,
    fixedTokens,
    needChance: cache.needChance,
    inputTokenUsd: priceInputToken(conversation.known, contextTokens),
  };
  const { compact: rule, counting } = settings.policy;
  const counted = countContext(counting, { items, shown: () => fold.shown(), contextTokens });
  return {
    policy: settings.policy,
    isOn: (name) => settings.switches[name].value,
    inventory,
    prefixes: cache.prefixes,
    planner: cache.planner,
    moment,
    thresholds: shiftThresholds(settings.thresholds, contextTokens - counted),
    opens,
    idleMillis: repliedAt === undefined ? undefined : millis(Math.max(0, at - repliedAt)),
    sentTokens: contextTokens + cache.clearedTokens,
    growthTokens: cache.growthTokens ?? (contextTokens - fixedTokens) / Math.max(1, inventory.round),
    roundsSinceClear: cache.roundsSinceClear(inventory),
    withheld,
    offers,
    ...(rule === undefined || compacts === "no"
      ? {}
      : {
          compaction: compactionState({
            rule,
            line,
            cache,
            moment,
            thresholds: settings.thresholds,
            callRates: summaryCallRates(input, contextTokens),
          }),
        }),
    items,
    decisions,
    // What the user restored by an undo is treated as pinned, or the same layer would remove it again.
    pins: entriesBroughtBack.size === 0 ? pins : pins.union(entriesBroughtBack),
    count: inventory.count,
  };
}

/** What layers need to decide whether they would use what the server offers. */
export const serverWant = (
  { line: { inventory, fold } }: Pick<Clearable, "line">,
  settings: ResolvedSettings,
): ServerWant => ({
  policy: settings.policy,
  isOn: (name) => settings.switches[name].value,
  inventory,
  withheld: fold.projection.withheld,
});

export const ratesFor = ({ conversation, cache }: Clearable): CacheRates =>
  ratesForModel(conversation.known, cache.lifetime);

/**
 * Protects results from clearing: pinned ones, those that the user restored by an undo, and those that the provider's
 * cache already withholds, which cost nothing.
 */
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
  readonly callRates?: CallRates | undefined;
}

/** Undefined if the conversation's own model writes the summary, or a price is not known. */
function summaryCallRates({ settings, conversation }: PipelineStateInput, promptTokens: number): CallRates | undefined {
  const { compacting, known: base } = conversation;
  const callers = compacting?.summaryModel;
  if (callers === "none") return undefined;
  const model = callers === undefined ? settings.summaryModel?.known : findModel(callers.name);
  return callRates(model, { base, promptTokens });
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
  const { callRates: rates } = input;
  return priceCompactionNow({
    rule,
    size,
    keptTokens,
    rent: rent.accrued,
    rounds: cache.requestTokens.length,
    callRates: rates,
    inventory,
    prefixes,
    moment,
  });
}

/** The sum of what the requests since the last boundary held beyond `leftTokens`. There are at most `rentRoundsMax`. */
function removableSince({ requestTokens }: CacheModel, leftTokens: number): number {
  let removable = 0;
  for (const sentTokens of requestTokens) if (sentTokens > leftTokens) removable += sentTokens - leftTokens;
  return removable;
}

/** The size of the session's newest compaction; the default size if there was none. */
function estimateSize({ rule, line, cache, moment, thresholds }: CompactionStateInput): CompactSize {
  const { fold, inventory } = line;
  const fallback = defaultCompactSize({ restores: rule.restores, windowTokens: thresholds.window });
  const edit = fold.projection.boundaries.at(-1)?.edit;
  if (edit?.type !== "boundary") return fallback;
  const { postTokens = 0 } = edit.metadata;
  const throughTokens = cache.view.throughTokens(fold.projection.items) * inventoryScale({ inventory, moment });
  const leavesTokens = postTokens - moment.fixedTokens - throughTokens;
  return {
    outputTokens: summaryOutputTokens(edit.metadata) ?? fallback.outputTokens,
    leavesTokens: leavesTokens > 0 ? leavesTokens : fallback.leavesTokens,
  };
}

/** The output of the call that wrote the summary; undefined if no model wrote it. */
function summaryOutputTokens({ calls = [] }: BoundaryMetadata): number | undefined {
  const usage = calls.at(-1)?.usage;
  return usage === undefined ? undefined : readUsage({ usage })?.output;
}

/** Tokens that a compaction would leave unchanged. */
function countKeptTokens({ line: { fold, inventory }, cache, thresholds, moment }: CompactionStateInput): number {
  const { count } = inventory;
  const waiting = findWaitingItems(fold, { waitingTokensMax: waitingTokensMax(thresholds, moment.fixedTokens), count });
  const waitingTokens = waiting.reduce((all, { blocks }) => blocks.reduce((sum, block) => sum + count(block), all), 0);
  return waitingTokens + cache.view.pinnedTokens(fold.projection);
}
