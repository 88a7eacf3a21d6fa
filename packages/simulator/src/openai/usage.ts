import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Fault } from "../fault.ts";
import { type Price, sumPrice } from "../price.ts";
import type { CachePlan } from "./cache.ts";
import type { Ttl } from "./item.ts";
import type { OpenAiModel } from "./models.ts";

/** One run of the model: a reply has one, or two where it was compacted first. */
export interface Run {
  readonly promptTokens: number;
  readonly plan: CachePlan;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface Usage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Absent where writes are free and nothing is told of them. */
  readonly written?: Readonly<Record<Ttl, number>>;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface UsageInputs {
  readonly runs: readonly Run[];
  readonly model: OpenAiModel;
  readonly fault: Fault | undefined;
}

export function usageOf({ runs, model, fault }: UsageInputs): Usage {
  const factor = fault?.kind === "wrong-usage" ? fault.factor : 1;
  const told = (count: (run: Run) => number): number => Math.round(sum(runs, count) * factor);
  return {
    inputTokens: told(({ promptTokens }) => promptTokens),
    cachedTokens: told(({ plan }) => plan.cachedTokens),
    ...(model.caching === "automatic"
      ? {}
      : {
          written: {
            "30m": told(({ plan }) => plan.writtenTokens["30m"]),
            "12h": told(({ plan }) => plan.writtenTokens["12h"]),
          },
        }),
    outputTokens: told(({ outputTokens }) => outputTokens),
    reasoningTokens: told(({ reasoningTokens }) => reasoningTokens),
  };
}

/** Undefined where the price is not known: of the model, or of the tier that was asked for. */
export function priceOfRuns(runs: readonly Run[], { model, tier }: CostOf): Price | undefined {
  const { priced } = model;
  if (priced === undefined || tier !== "default") return undefined;
  return sumPrice(
    priced,
    runs.map((run) => ({ usage: splitOf(run), outputTokens: run.outputTokens })),
  );
}

export interface CostOf {
  readonly model: OpenAiModel;
  readonly tier: string;
}

/** In the Messages form: 30 minutes stand where five do there, 12 hours where one does. */
export const splitOf = ({ promptTokens, plan }: Run): UsageSplit => {
  const { "30m": short, "12h": long } = plan.writtenTokens;
  return {
    inputTokens: promptTokens - plan.cachedTokens - short - long,
    cacheReadTokens: plan.cachedTokens,
    cacheWrite5mTokens: short,
    cacheWrite1hTokens: long,
  };
};

const sum = (runs: readonly Run[], count: (run: Run) => number): number =>
  runs.reduce((total, run) => total + count(run), 0);
