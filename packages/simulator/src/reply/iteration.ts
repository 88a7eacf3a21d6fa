import type { Spent, UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { IterationUsage, SampledUsage } from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { computeNanos, sumNanos, type Tariff, resolveTariff, toUsd } from "palimpsest/internal/cache/cost-ledger";
import { nanoUsd } from "palimpsest/internal/schema/brand";
import type { Model, Prices } from "palimpsest/internal/schema/model";

/** One call of the model in the course of a request, and what it used. */
export interface Iteration {
  readonly type: "message" | "compaction";
  /** Usage of its own prompt. */
  readonly split: UsageSplit;
  readonly outputTokens: number;
}

export const toSpent = ({ split, outputTokens }: Iteration, request: MessagesRequest): Spent => ({
  usage: split,
  outputTokens,
  speed: request.speed,
  inferenceGeo: request.inference_geo,
});

/** The totals of a reply: compactions are billed but not included in them. */
export const replyTotals = (iterations: readonly Iteration[]): Omit<Iteration, "type"> =>
  iterations.find(({ type }) => type === "message") ?? { split: noUsage, outputTokens: 0 };

const noUsage: UsageSplit = { inputTokens: 0, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };

/** `report` maps a number of tokens to the one that the client is told; a fault may make it wrong. */
export function usageReport(
  { split, outputTokens }: Omit<Iteration, "type">,
  report: (tokens: number) => number,
): SampledUsage {
  const fiveMinutes = report(split.cacheWrite5mTokens);
  const hour = report(split.cacheWrite1hTokens);
  return {
    input_tokens: report(split.inputTokens),
    cache_creation_input_tokens: fiveMinutes + hour,
    cache_read_input_tokens: report(split.cacheReadTokens),
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: hour },
    output_tokens: report(outputTokens),
  };
}

interface IterationReportOptions {
  /** As the request names it. */
  readonly model: string;
  readonly report: (tokens: number) => number;
}

export const iterationReport = (iteration: Iteration, { model, report }: IterationReportOptions): IterationUsage =>
  iteration.type === "message"
    ? { type: "message", model, ...usageReport(iteration, report) }
    : { type: "compaction", ...usageReport(iteration, report) };

export interface Price {
  readonly usdByKind: Readonly<Record<keyof Prices, number>>;
  readonly totalUsd: number;
  /** The prices of its first prompt: those of its tier, with place and speed. */
  readonly usdPerMTok: Readonly<Prices>;
}

/** The price of one reply, by the same arithmetic as the engine's ledger. */
export const priceReply = (model: Model, spent: Spent): Price => priceIterations(model, [spent]);

/**
 * The price of a reply for which the model was called several times, each with a prompt, and so perhaps a tier, of its
 * own.
 */
export function priceIterations(model: Model, all: readonly Spent[]): Price {
  const [first] = all;
  if (first === undefined) throw new Error("a reply without a single iteration has no price");
  const nanos = all.map((spent) => computeNanos(spent, resolveTariff(model, spent)));
  const sum = (kind: keyof Prices): number => toUsd(nanoUsd(nanos.reduce((total, one) => total + one[kind], 0)));
  return {
    usdByKind: {
      input: sum("input"),
      cacheWrite5m: sum("cacheWrite5m"),
      cacheWrite1h: sum("cacheWrite1h"),
      cacheRead: sum("cacheRead"),
      output: sum("output"),
    },
    totalUsd: toUsd(nanoUsd(nanos.reduce((total, one) => total + sumNanos(one), 0))),
    usdPerMTok: effectivePrices(resolveTariff(model, first)),
  };
}

/** For every kind of token, whether a reply has any of it or not. */
function effectivePrices({ prices, factor }: Tariff): Prices {
  const times = (price: number): number => Math.round(price * factor * 1e9) / 1e9;
  return {
    input: times(prices.input),
    cacheWrite5m: times(prices.cacheWrite5m),
    cacheWrite1h: times(prices.cacheWrite1h),
    cacheRead: times(prices.cacheRead),
    output: times(prices.output),
  };
}
