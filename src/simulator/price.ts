import { nanosOf, sumOf, type Tariff, tariffOf, usdOf } from "../cache/price.ts";
import type { Spent } from "../cache/usage-split.ts";
import type { Model, Prices } from "../schema/model.ts";

export interface Price {
  readonly usdByKind: Readonly<Record<keyof Prices, number>>;
  readonly totalUsd: number;
  /** By which this reply was paid: those of its tier, with place and speed. */
  readonly usdPerMTok: Readonly<Prices>;
}

/** What one reply costs, by the same arithmetic as the engine's ledger. */
export function priceOf(model: Model, spent: Spent): Price {
  const tariff = tariffOf(model, spent);
  const nanos = nanosOf(spent, tariff);
  return {
    usdByKind: {
      input: usdOf(nanos.input),
      cacheWrite5m: usdOf(nanos.cacheWrite5m),
      cacheWrite1h: usdOf(nanos.cacheWrite1h),
      cacheRead: usdOf(nanos.cacheRead),
      output: usdOf(nanos.output),
    },
    totalUsd: usdOf(sumOf(nanos)),
    usdPerMTok: effectivePrices(tariff),
  };
}

/** Of every kind, whether a reply has tokens of it or not. */
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
