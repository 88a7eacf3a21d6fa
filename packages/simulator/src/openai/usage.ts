import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Fault } from "../fault/fault.ts";
import { type Price, priceIterations } from "../reply/iteration.ts";
import type { CachePlan } from "./open-ai-cache.ts";
import type { Ttl } from "./open-ai-request.ts";
import type { OpenAiModel } from "./open-ai-models.ts";

/** One run of the model: a reply has one, or two if the conversation was compacted first. */
export interface ModelRun {
  readonly promptTokens: number;
  readonly plan: CachePlan;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface Usage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Absent if writes are free and not reported. */
  readonly written?: Readonly<Record<Ttl, number>>;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export function sumUsage({
  runs,
  model,
  fault,
}: {
  readonly runs: readonly ModelRun[];
  readonly model: OpenAiModel;
  readonly fault: Fault | undefined;
}): Usage {
  const factor = fault?.kind === "wrong-usage" ? fault.factor : 1;
  const report = (count: (run: ModelRun) => number): number => Math.round(sum(runs, count) * factor);
  return {
    inputTokens: report(({ promptTokens }) => promptTokens),
    cachedTokens: report(({ plan }) => plan.cachedTokens),
    ...(model.caching === "automatic"
      ? {}
      : {
          written: {
            "30m": report(({ plan }) => plan.writtenTokens["30m"]),
            "12h": report(({ plan }) => plan.writtenTokens["12h"]),
          },
        }),
    outputTokens: report(({ outputTokens }) => outputTokens),
    reasoningTokens: report(({ reasoningTokens }) => reasoningTokens),
  };
}

/** Undefined if the price of the model or of the requested tier is unknown. */
export function priceRuns(
  runs: readonly ModelRun[],
  { model, tier }: { readonly model: OpenAiModel; readonly tier: string },
): Price | undefined {
  const { priced } = model;
  if (priced === undefined || tier !== "default") return undefined;
  return priceIterations(
    priced,
    runs.map((run) => ({ usage: toUsageSplit(run), outputTokens: run.outputTokens })),
  );
}

/** In the Messages API's fields: 30 minutes are counted as five minutes there, 12 hours as one hour. */
export const toUsageSplit = ({ promptTokens, plan }: ModelRun): UsageSplit => {
  const { "30m": short, "12h": long } = plan.writtenTokens;
  return {
    inputTokens: promptTokens - plan.cachedTokens - short - long,
    cacheReadTokens: plan.cachedTokens,
    cacheWrite5mTokens: short,
    cacheWrite1hTokens: long,
  };
};

const sum = (runs: readonly ModelRun[], count: (run: ModelRun) => number): number =>
  runs.reduce((total, run) => total + count(run), 0);
