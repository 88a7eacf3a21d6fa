import { type Model, type ModelOverride, modelShape, type Prices } from "../schema/model.ts";
import { outputTokensMaxDefault, windowTokensDefault } from "./limits.ts";

/** Prices at the usual rates: writing costs 1.25 or 2 times the input price, reading a tenth. */
const usual = (input: number, output: number): Prices => ({
  input,
  cacheWrite5m: input * 1.25,
  cacheWrite1h: input * 2,
  cacheRead: input / 10,
  output,
});

const million = { windowTokens: 1_000_000, outputTokensMax: 128_000 } as const;
const small = { windowTokens: 200_000, outputTokensMax: 64_000 } as const;

/**
 * Models we know, as of November 2026. Where the provider has not published a minimum cached prefix for a new model, that
 * of its predecessor stands. Settings (`models`) override any of it.
 */
export const knownModels: readonly Model[] = [
  {
    id: "claude-fable-5-2",
    ...million,
    cachePrefixTokensMin: 512,
    prices: { ...usual(8, 40), cacheRead: 0.2 },
    thinking: "bound",
  },
  {
    id: "claude-fable-5-1",
    ...million,
    cachePrefixTokensMin: 512,
    prices: { ...usual(10, 50), cacheRead: 0.25 },
    thinking: "bound",
  },
  {
    id: "claude-mythos-5-1",
    ...million,
    cachePrefixTokensMin: 512,
    prices: { ...usual(10, 50), cacheRead: 0.25 },
    thinking: "bound",
  },
  { id: "claude-fable-5", ...million, cachePrefixTokensMin: 512, prices: usual(10, 50), thinking: "free" },
  { id: "claude-mythos-5", ...million, cachePrefixTokensMin: 512, prices: usual(10, 50), thinking: "free" },
  {
    id: "claude-opus-5-5",
    ...million,
    cachePrefixTokensMin: 512,
    prices: { ...usual(4, 20), cacheRead: 0.2 },
    thinking: "bound",
  },
  { id: "claude-opus-5", ...million, cachePrefixTokensMin: 512, prices: usual(5, 25), thinking: "free" },
  { id: "claude-opus-4-8", ...million, cachePrefixTokensMin: 1024, prices: usual(5, 25), thinking: "free" },
  { id: "claude-opus-4-7", ...million, cachePrefixTokensMin: 2048, prices: usual(5, 25), thinking: "free" },
  { id: "claude-opus-4-6", ...million, cachePrefixTokensMin: 4096, prices: usual(5, 25), thinking: "free" },
  { id: "claude-opus-4-5", ...small, cachePrefixTokensMin: 4096, prices: usual(5, 25), thinking: "free" },
  { id: "claude-sonnet-5-5", ...million, cachePrefixTokensMin: 1024, prices: usual(2, 10), thinking: "bound" },
  { id: "claude-sonnet-5", ...million, cachePrefixTokensMin: 1024, prices: usual(2, 10), thinking: "free" },
  { id: "claude-sonnet-4-6", ...million, cachePrefixTokensMin: 1024, prices: usual(3, 15), thinking: "free" },
  { id: "claude-sonnet-4-5", ...small, cachePrefixTokensMin: 1024, prices: usual(3, 15), thinking: "free" },
  {
    id: "claude-haiku-5-5",
    ...million,
    cachePrefixTokensMin: 4096,
    prices: usual(0.1, 0.5),
    longPrompt: { overTokens: 100_000, prices: usual(0.5, 2.5) },
    thinking: "free",
  },
  { id: "claude-haiku-4-5", ...small, cachePrefixTokensMin: 4096, prices: usual(1, 5), thinking: "free" },
];

/** Of a model that a user names and we do not know: what is not said costs nothing and caches everything. */
const unknownModel = {
  windowTokens: windowTokensDefault,
  outputTokensMax: outputTokensMaxDefault,
  cachePrefixTokensMin: 0,
  prices: usual(0, 0),
  thinking: "free",
} as const;

/** The model a name means: the longest id that begins it. A date or a `[1m]` behind the id does not matter. */
export function findModel(name: string, overrides: readonly ModelOverride[] = []): Model | undefined {
  const known = longest(knownModels, name);
  const override = longest(overrides, name);
  if (override === undefined) return known;
  const read = modelShape.safeParse({ ...unknownModel, ...known, ...override });
  return read.success ? read.data : undefined;
}

function longest<Of extends { readonly id: string }>(models: readonly Of[], name: string): Of | undefined {
  const bare = name.replace(providerPrefix, "");
  let found: Of | undefined;
  for (const model of models) {
    const fits = [name, bare, bare.replaceAll(/(\d)\.(?=\d)/g, "$1-")].some(
      (one) => one.startsWith(model.id) && !/^\d/.test(one.slice(model.id.length)),
    );
    if (fits && model.id.length > (found?.id.length ?? -1)) found = model;
  }
  return found;
}

/** `anthropic/claude-…`, `us.anthropic.claude-…`: how gateways and clouds name the same models. */
const providerPrefix = /^(?:[a-z-]+\/)*(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?/;
