import { type NanoUsd, nanoUsd } from "../schema/brand.ts";
import type { Model, Prices } from "../schema/model.ts";
import { modelName } from "../tokens/model-name.ts";
import { promptTokensOf, type Spent } from "./usage-split.ts";

export type NanosByKind = Readonly<Record<keyof Prices, NanoUsd>>;

/** Dollars per million tokens, as one reply is charged. */
export interface Tariff {
  readonly prices: Prices;
  /** On all of them, for where and how fast the model runs. */
  readonly factor: number;
}

export function tariffOf(model: Model, { usage, inferenceGeo, speed }: Spent): Tariff {
  return {
    prices: tierOf(model, promptTokensOf(usage)),
    factor: geoFactor(model, inferenceGeo) * speedFactor(model, speed),
  };
}

/** In whole billionths of a dollar: prices per million and factors such as 1.1 are no binary fractions, and sums have to be exact. */
export function nanosOf({ usage, outputTokens }: Spent, tariff: Tariff): NanosByKind {
  return {
    input: nanosFor(usage.inputTokens, { kind: "input", tariff }),
    cacheWrite5m: nanosFor(usage.cacheWrite5mTokens, { kind: "cacheWrite5m", tariff }),
    cacheWrite1h: nanosFor(usage.cacheWrite1hTokens, { kind: "cacheWrite1h", tariff }),
    cacheRead: nanosFor(usage.cacheReadTokens, { kind: "cacheRead", tariff }),
    output: nanosFor(outputTokens, { kind: "output", tariff }),
  };
}

export const sumOf = ({ input, cacheWrite5m, cacheWrite1h, cacheRead, output }: NanosByKind): NanoUsd =>
  nanoUsd(input + cacheWrite5m + cacheWrite1h + cacheRead + output);

export const usdOf = (nanos: NanoUsd): number => nanos / 1e9;

export const nanosFor = (count: number, { kind, tariff }: Priced): NanoUsd =>
  nanoUsd(Math.round(count * tariff.prices[kind] * tariff.factor * 1000));

interface Priced {
  readonly kind: keyof Prices;
  readonly tariff: Tariff;
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
