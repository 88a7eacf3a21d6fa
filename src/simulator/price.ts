import type { Model, Prices } from "../schema/model.ts";
import { promptTokensOf, type UsageSplit } from "./cache/usage-split.ts";
import { modelName } from "./model-traits.ts";

export interface Spent {
  readonly usage: UsageSplit;
  readonly outputTokens: number;
  readonly inferenceGeo?: string | null | undefined;
  readonly speed?: "standard" | "fast" | null | undefined;
}

export interface Price {
  readonly usdByKind: Readonly<Record<keyof Prices, number>>;
  readonly totalUsd: number;
  /** By which this reply was paid: those of its tier, with place and speed. */
  readonly usdPerMTok: Readonly<Prices>;
}

/** What one reply costs. Summed in whole billionths of a dollar: prices per million and factors such as 1.1 are no binary fractions. */
export function priceOf(model: Model, { outputTokens, ...spent }: Spent): Price {
  const { usage } = spent;
  const prices = effectivePrices(model, spent);
  const nanosByKind = {
    input: nanos(usage.inputTokens, prices.input),
    cacheWrite5m: nanos(usage.cacheWrite5mTokens, prices.cacheWrite5m),
    cacheWrite1h: nanos(usage.cacheWrite1hTokens, prices.cacheWrite1h),
    cacheRead: nanos(usage.cacheReadTokens, prices.cacheRead),
    output: nanos(outputTokens, prices.output),
  };
  const { input, cacheWrite5m, cacheWrite1h, cacheRead, output } = nanosByKind;
  return {
    usdByKind: {
      input: usd(input),
      cacheWrite5m: usd(cacheWrite5m),
      cacheWrite1h: usd(cacheWrite1h),
      cacheRead: usd(cacheRead),
      output: usd(output),
    },
    totalUsd: usd(input + cacheWrite5m + cacheWrite1h + cacheRead + output),
    usdPerMTok: prices,
  };
}

/** Dollars per million tokens, of every kind, whether a reply has tokens of it or not. */
function effectivePrices(model: Model, { usage, inferenceGeo, speed }: Omit<Spent, "outputTokens">): Prices {
  const prices = tierOf(model, promptTokensOf(usage));
  const factor = geoFactor(model, inferenceGeo) * speedFactor(model, speed);
  const times = (price: number): number => Math.round(price * factor * 1e9) / 1e9;
  return {
    input: times(prices.input),
    cacheWrite5m: times(prices.cacheWrite5m),
    cacheWrite1h: times(prices.cacheWrite1h),
    cacheRead: times(prices.cacheRead),
    output: times(prices.output),
  };
}

/** The whole prompt decides, cached or not; then every token has the tier's price, also those of the reply. */
const tierOf = ({ prices, longPrompt }: Model, promptTokens: number): Prices =>
  longPrompt !== undefined && promptTokens > longPrompt.overTokens ? longPrompt.prices : prices;

/** Inference held in the US costs a tenth more since 4.6; elsewhere and before it does not. */
const geoFactor = ({ id }: Model, geo: string | null | undefined): number =>
  geo === "us" && modelName(id).version >= 4.06 ? 1.1 : 1;

/** As published: 10/50 where 5/25 is standard (Opus 5 and 4.8), 8/40 where 4/20 is (Opus 5.5). Cache prices follow the input. */
function speedFactor({ id }: Model, speed: Spent["speed"]): number {
  const { line, version } = modelName(id);
  return speed === "fast" && line === "opus" && version >= 4.08 ? 2 : 1;
}

const nanos = (tokens: number, usdPerMTok: number): number => Math.round(tokens * usdPerMTok * 1000);

const usd = (billionths: number): number => billionths / 1e9;
