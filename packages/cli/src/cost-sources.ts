import { type CostReport, type CostSource, costSources, type CostSummary } from "palimpsest/internal/cache/costs";
import { usdOf } from "palimpsest/internal/cache/price";

/** What was paid for, as people and scripts are told it. */
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

/** By name, those that were asked for. */
export const namedSources = (bySource: Sources): readonly (readonly [name: string, of: CostSummary])[] =>
  sourcesIn(bySource).map(([source, of]) => [nameBySource[source], of] as const);

export interface SourceMoney {
  readonly requests: number;
  readonly cost_usd: number;
  readonly input_usd: number;
  readonly cache_write_usd: number;
  readonly cache_read_usd: number;
  readonly output_usd: number;
}

/** Dollars by what they were paid for; their `cost_usd` adds up to what the session has cost. */
export function moneyBySource(bySource: Sources): Readonly<Record<string, SourceMoney>> {
  return Object.fromEntries(namedSources(bySource).map(([name, of]) => [name, moneyOf(of)]));
}

function moneyOf({ requests, totalNanos, nanosByKind }: CostSummary): SourceMoney {
  const { input, cacheWrite5m, cacheWrite1h, cacheRead, output } = nanosByKind;
  return {
    requests,
    cost_usd: usdOf(totalNanos),
    input_usd: usdOf(input),
    cache_write_usd: usdOf(cacheWrite5m) + usdOf(cacheWrite1h),
    cache_read_usd: usdOf(cacheRead),
    output_usd: usdOf(output),
  };
}

function sourcesIn(bySource: Sources): readonly (readonly [CostSource, CostSummary])[] {
  return costSources.flatMap((source) => {
    const of = bySource[source];
    return of === undefined ? [] : [[source, of] as const];
  });
}
