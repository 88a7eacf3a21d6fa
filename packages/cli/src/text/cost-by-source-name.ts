import {
  type CostReport,
  type CostSource,
  costSources,
  type CostSummary,
  CostLedger,
  toUsd,
} from "palimpsest/internal/cache/cost-ledger";
import { callsCost } from "palimpsest/internal/context/past-costs";
import type { NanoUsd } from "palimpsest/internal/schema/brand";
import type { PaidCall } from "palimpsest/internal/schema/edit";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import { findModel } from "palimpsest/internal/tokens/known-models";

/** What was paid for, in the words for users and scripts. */
const nameBySource: Readonly<Record<CostSource, string>> = {
  main: "conversation",
  notes: "notes",
  compact: "summaries",
  extraction: "memories",
  dream: "dream",
  agents: "agents",
  recall: "recall",
};

type Sources = CostReport["bySource"];

/** By name, only the sources with costs. */
export const costBySourceName = (bySource: Sources): readonly (readonly [name: string, costs: CostSummary])[] =>
  presentSources(bySource).map(([source, costs]) => [nameBySource[source], costs] as const);

interface SourceMoney {
  readonly requests: number;
  readonly cost_usd: number;
  readonly input_usd: number;
  readonly cache_write_usd: number;
  readonly cache_read_usd: number;
  readonly output_usd: number;
}

/** Dollars by what they were paid for; their `cost_usd` adds up to the cost of the session. */
export function moneyBySource(bySource: Sources): Readonly<Record<string, SourceMoney>> {
  return Object.fromEntries(costBySourceName(bySource).map(([name, costs]) => [name, sourceMoney(costs)]));
}

/** Dollars by agent: parts of what `agents` has cost. */
export const moneyByAgent = (byAgent: CostReport["byAgent"]): Readonly<Record<string, SourceMoney>> =>
  Object.fromEntries(Object.entries(byAgent).map(([name, costs]) => [name, sourceMoney(costs)]));

function sourceMoney({ requests, totalNanos, nanosByKind }: CostSummary): SourceMoney {
  const { input, cacheWrite5m, cacheWrite1h, cacheRead, output } = nanosByKind;
  return {
    requests,
    cost_usd: toUsd(totalNanos),
    input_usd: toUsd(input),
    cache_write_usd: toUsd(cacheWrite5m) + toUsd(cacheWrite1h),
    cache_read_usd: toUsd(cacheRead),
    output_usd: toUsd(output),
  };
}

function presentSources(bySource: Sources): readonly (readonly [CostSource, CostSummary])[] {
  return costSources.flatMap((source) => {
    const costs = bySource[source];
    return costs === undefined ? [] : [[source, costs] as const];
  });
}

/** Undefined if there is no call, or a model has no known price. */
export type CallsPricer = (calls: readonly PaidCall[]) => NanoUsd | undefined;

/** `models`: the user's own settings of models. */
export function createCallsPricer(models: readonly ModelOverride[]): CallsPricer {
  const costs = new CostLedger(models);
  return (calls) => {
    const isKnown = calls.length > 0 && calls.every(({ model }) => findModel(model, models) !== undefined);
    return isKnown ? callsCost({ costs }, calls) : undefined;
  };
}
