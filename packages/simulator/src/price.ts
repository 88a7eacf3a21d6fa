import { nanosOf, sumOf, type Tariff, tariffOf, usdOf } from "palimpsest/internal/cache/price";
import { nanoUsd } from "palimpsest/internal/schema/brand";
import type { Spent } from "palimpsest/internal/cache/usage-split";
import type { Model, Prices } from "palimpsest/internal/schema/model";

export interface Price {
  readonly usdByKind: Readonly<Record<keyof Prices, number>>;
  readonly totalUsd: number;
  /** By which its first prompt was paid: those of its tier, with place and speed. */
  readonly usdPerMTok: Readonly<Prices>;
}

/** What one reply costs, by the same arithmetic as the engine's ledger. */
export const priceOf = (model: Model, spent: Spent): Price => sumPrice(model, [spent]);

/** What it costs where the model was asked several times for it, each with a prompt and so perhaps a tier of its own. */
export function sumPrice(model: Model, all: readonly Spent[]): Price {
  const [first] = all;
  if (first === undefined) throw new Error("a reply without a single iteration has no price");
  const nanos = all.map((spent) => nanosOf(spent, tariffOf(model, spent)));
  const sum = (kind: keyof Prices): number => usdOf(nanoUsd(nanos.reduce((total, one) => total + one[kind], 0)));
  return {
    usdByKind: {
      input: sum("input"),
      cacheWrite5m: sum("cacheWrite5m"),
      cacheWrite1h: sum("cacheWrite1h"),
      cacheRead: sum("cacheRead"),
      output: sum("output"),
    },
    totalUsd: usdOf(nanoUsd(nanos.reduce((total, one) => total + sumOf(one), 0))),
    usdPerMTok: effectivePrices(tariffOf(model, first)),
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
