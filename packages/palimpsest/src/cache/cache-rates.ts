import type { Model, Prices } from "../schema/model.ts";
import type { Lifetime } from "./lifetime.ts";

type PricedModel = Pick<Model, "prices" | "longPrompt">;

/** Prices relative to an uncached input token. */
export interface CacheRates {
  readonly read: number;
  readonly write: number;
  readonly output: number;
}

/** What most providers charge; for models without known prices. */
export const usualRates: Readonly<Record<Lifetime, CacheRates>> = {
  "5m": { read: 0.1, write: 1.25, output: 5 },
  "1h": { read: 0.1, write: 2, output: 5 },
};

export function ratesForModel(model: Pick<Model, "prices"> | undefined, lifetime: Lifetime): CacheRates {
  const prices = model?.prices;
  if (prices === undefined || prices.input <= 0) return usualRates[lifetime];
  const { input, cacheRead, output } = prices;
  return { read: cacheRead / input, write: writePrice(prices, lifetime) / input, output: output / input };
}

/** Dollars for an uncached input token of a prompt of this size. Undefined if the model's price is not known. */
export function priceInputToken(model: PricedModel | undefined, promptTokens: number): number | undefined {
  const input = model === undefined ? 0 : priceTier(model, promptTokens).input;
  return input <= 0 ? undefined : input / 1e6;
}

/** Prices of another model's call, relative to an uncached input token of the conversation's model in the same prompt. */
export interface CallRates {
  readonly input: number;
  readonly output: number;
}

/** `base`: the conversation's model. Undefined if a price is not known: then the call counts as one of its own. */
export function callRates(
  model: PricedModel | undefined,
  { base, promptTokens }: { readonly base: PricedModel | undefined; readonly promptTokens: number },
): CallRates | undefined {
  const baseInput = base === undefined ? 0 : priceTier(base, promptTokens).input;
  if (model === undefined || baseInput <= 0) return undefined;
  const { input, output } = priceTier(model, promptTokens);
  return { input: input / baseInput, output: output / baseInput };
}

/**
 * The length of the whole prompt decides, cached or not. Then every token has the tier's price, including those of the
 * reply.
 */
export const priceTier = ({ prices, longPrompt }: PricedModel, promptTokens: number): Prices =>
  longPrompt !== undefined && promptTokens > longPrompt.overTokens ? longPrompt.prices : prices;

const writePrice = ({ cacheWrite5m, cacheWrite1h }: Prices, lifetime: Lifetime): number =>
  lifetime === "1h" ? cacheWrite1h : cacheWrite5m;

/** The rates of a model whose provider sells two lifetimes. Undefined for any other model. */
export function ratesByLifetime(
  model: Pick<Model, "prices"> | undefined,
): Readonly<Record<Lifetime, CacheRates>> | undefined {
  if (model === undefined || model.prices.cacheWrite1h <= model.prices.cacheWrite5m) return undefined;
  return { "5m": ratesForModel(model, "5m"), "1h": ratesForModel(model, "1h") };
}
