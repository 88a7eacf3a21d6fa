import { type Model, type ModelOverride, modelShape, type Prices } from "../schema/model.ts";
import { outputTokensMaxDefault, windowTokensDefault, windowTokensMillion } from "./limits.ts";
import { defaultRates, type Rates, scaleRates, uncalibratedPadding } from "./estimate-block.ts";

/** Prices at the usual rates: writing costs 1.25 or 2 times the input price, reading a tenth. */
const usualPrices = (input: number, output: number): Prices => ({
  input,
  cacheWrite5m: input * 1.25,
  cacheWrite1h: input * 2,
  cacheRead: input / 10,
  output,
});

const millionWindow = { windowTokens: 1_000_000, outputTokensMax: 128_000 } as const;
const smallWindow = { windowTokens: 200_000, outputTokensMax: 64_000 } as const;

/** With other providers, writing to the cache costs nothing extra; only reading has its own price. */
const withoutWritePrice = (prices: Pick<Prices, "input" | "cacheRead" | "output">): Prices => ({
  ...prices,
  cacheWrite5m: prices.input,
  cacheWrite1h: prices.input,
});

const gpt5 = {
  windowTokens: 400_000,
  inputTokensMax: 272_000,
  outputTokensMax: 128_000,
  cachePrefixTokensMin: 1024,
  thinking: "free",
} as const;
const gptSmall = {
  windowTokens: 128_000,
  outputTokensMax: 16_384,
  cachePrefixTokensMin: 1024,
  thinking: "free",
} as const;
const gemini25 = { windowTokens: 1_048_576, outputTokensMax: 65_536, thinking: "free" } as const;

/**
 * Known models, as of November 2026. If the provider has not published a minimum cached prefix for a new model, that of
 * its predecessor is used. Settings (`models`) override any of it.
 */
export const knownModels: readonly Model[] = [
  {
    id: "claude-fable-5-2",
    ...millionWindow,
    cachePrefixTokensMin: 512,
    prices: { ...usualPrices(8, 40), cacheRead: 0.2 },
    thinking: "bound",
  },
  {
    id: "claude-fable-5-1",
    ...millionWindow,
    cachePrefixTokensMin: 512,
    prices: { ...usualPrices(10, 50), cacheRead: 0.25 },
    thinking: "bound",
  },
  {
    id: "claude-mythos-5-1",
    ...millionWindow,
    cachePrefixTokensMin: 512,
    prices: { ...usualPrices(10, 50), cacheRead: 0.25 },
    thinking: "bound",
  },
  { id: "claude-fable-5", ...millionWindow, cachePrefixTokensMin: 512, prices: usualPrices(10, 50), thinking: "free" },
  { id: "claude-mythos-5", ...millionWindow, cachePrefixTokensMin: 512, prices: usualPrices(10, 50), thinking: "free" },
  {
    id: "claude-opus-5-5",
    ...millionWindow,
    cachePrefixTokensMin: 512,
    prices: { ...usualPrices(4, 20), cacheRead: 0.2 },
    thinking: "bound",
  },
  { id: "claude-opus-5", ...millionWindow, cachePrefixTokensMin: 512, prices: usualPrices(5, 25), thinking: "free" },
  { id: "claude-opus-4-8", ...millionWindow, cachePrefixTokensMin: 1024, prices: usualPrices(5, 25), thinking: "free" },
  { id: "claude-opus-4-7", ...millionWindow, cachePrefixTokensMin: 2048, prices: usualPrices(5, 25), thinking: "free" },
  { id: "claude-opus-4-6", ...millionWindow, cachePrefixTokensMin: 4096, prices: usualPrices(5, 25), thinking: "free" },
  { id: "claude-opus-4-5", ...smallWindow, cachePrefixTokensMin: 4096, prices: usualPrices(5, 25), thinking: "free" },
  {
    id: "claude-sonnet-5-5",
    ...millionWindow,
    cachePrefixTokensMin: 1024,
    prices: usualPrices(2, 10),
    thinking: "bound",
  },
  { id: "claude-sonnet-5", ...millionWindow, cachePrefixTokensMin: 1024, prices: usualPrices(2, 10), thinking: "free" },
  {
    id: "claude-sonnet-4-6",
    ...millionWindow,
    cachePrefixTokensMin: 1024,
    prices: usualPrices(3, 15),
    thinking: "free",
  },
  { id: "claude-sonnet-4-5", ...smallWindow, cachePrefixTokensMin: 1024, prices: usualPrices(3, 15), thinking: "free" },
  {
    id: "claude-haiku-5-5",
    ...millionWindow,
    cachePrefixTokensMin: 4096,
    prices: usualPrices(0.1, 0.5),
    longPrompt: { overTokens: 100_000, prices: usualPrices(0.5, 2.5) },
    thinking: "free",
  },
  { id: "claude-haiku-4-5", ...smallWindow, cachePrefixTokensMin: 4096, prices: usualPrices(1, 5), thinking: "free" },
  { id: "claude-sonnet-4", ...smallWindow, cachePrefixTokensMin: 1024, prices: usualPrices(3, 15), thinking: "free" },
  {
    id: "claude-opus-4-1",
    ...smallWindow,
    outputTokensMax: 32_000,
    cachePrefixTokensMin: 1024,
    prices: usualPrices(15, 75),
    thinking: "free",
  },
  {
    id: "claude-opus-4",
    ...smallWindow,
    outputTokensMax: 32_000,
    cachePrefixTokensMin: 1024,
    prices: usualPrices(15, 75),
    thinking: "free",
  },
  { id: "claude-3-7-sonnet", ...smallWindow, cachePrefixTokensMin: 1024, prices: usualPrices(3, 15), thinking: "free" },
  {
    id: "claude-3-5-sonnet",
    ...smallWindow,
    outputTokensMax: 8_192,
    cachePrefixTokensMin: 1024,
    prices: usualPrices(3, 15),
    thinking: "free",
  },
  {
    id: "claude-3-5-haiku",
    ...smallWindow,
    outputTokensMax: 8_192,
    cachePrefixTokensMin: 2048,
    prices: { ...usualPrices(0.8, 4), cacheRead: 0.08 },
    thinking: "free",
  },
  { id: "gpt-5", ...gpt5, prices: withoutWritePrice({ input: 1.25, cacheRead: 0.125, output: 10 }) },
  { id: "gpt-5-mini", ...gpt5, prices: withoutWritePrice({ input: 0.25, cacheRead: 0.025, output: 2 }) },
  { id: "gpt-5-nano", ...gpt5, prices: withoutWritePrice({ input: 0.05, cacheRead: 0.005, output: 0.4 }) },
  {
    id: "gpt-5-pro",
    ...gpt5,
    outputTokensMax: 272_000,
    prices: withoutWritePrice({ input: 15, cacheRead: 15, output: 120 }),
  },
  { id: "gpt-5-chat", ...gptSmall, prices: withoutWritePrice({ input: 1.25, cacheRead: 0.125, output: 10 }) },
  { id: "gpt-5.1", ...gpt5, prices: withoutWritePrice({ input: 1.25, cacheRead: 0.125, output: 10 }) },
  { id: "gpt-5.1-chat", ...gptSmall, prices: withoutWritePrice({ input: 1.25, cacheRead: 0.125, output: 10 }) },
  { id: "gpt-5.1-codex-mini", ...gpt5, prices: withoutWritePrice({ input: 0.25, cacheRead: 0.025, output: 2 }) },
  { id: "gpt-4o", ...gptSmall, prices: withoutWritePrice({ input: 2.5, cacheRead: 1.25, output: 10 }) },
  { id: "gpt-4o-mini", ...gptSmall, prices: withoutWritePrice({ input: 0.15, cacheRead: 0.075, output: 0.6 }) },
  {
    id: "gemini-2.5-pro",
    ...gemini25,
    cachePrefixTokensMin: 4096,
    prices: withoutWritePrice({ input: 1.25, cacheRead: 0.125, output: 10 }),
    longPrompt: { overTokens: 200_000, prices: withoutWritePrice({ input: 2.5, cacheRead: 0.25, output: 15 }) },
  },
  {
    id: "gemini-2.5-flash",
    ...gemini25,
    cachePrefixTokensMin: 1024,
    prices: withoutWritePrice({ input: 0.3, cacheRead: 0.03, output: 2.5 }),
  },
  {
    id: "gemini-2.5-flash-lite",
    ...gemini25,
    cachePrefixTokensMin: 1024,
    prices: withoutWritePrice({ input: 0.1, cacheRead: 0.01, output: 0.4 }),
  },
];

/** The newest small fast model of each provider, by how the ids of the provider's models begin. */
const smallFastIds: readonly (readonly [string, string])[] = [
  ["claude-", "claude-haiku-5-5"],
  ["gpt-", "gpt-5-mini"],
  ["gemini-", "gemini-2.5-flash"],
];

/**
 * The small fast model of the same provider. Undefined if there is none, if the model costs no more itself, or if it is
 * named as at a gateway, whose other names are not known.
 */
export function findSmallFastModel(name: string, overrides: readonly ModelOverride[] = []): Model | undefined {
  const [, id] = smallFastIds.find(([prefix]) => name.startsWith(prefix)) ?? [];
  const model = findModel(name, overrides);
  const small = id === undefined ? undefined : findModel(id, overrides);
  return model === undefined || small === undefined || model.prices.input <= small.prices.input ? undefined : small;
}

/**
 * The known model of the same provider with the lowest price of an input token, the model itself included. Undefined if
 * none is known, or if the model is named as at a gateway, whose other names are not known.
 */
export function findCheapestModel(name: string, overrides: readonly ModelOverride[] = []): Model | undefined {
  const [prefix] = smallFastIds.find(([start]) => name.startsWith(start)) ?? [];
  if (prefix === undefined) return undefined;
  const models = knownModels.flatMap(({ id }) => (id.startsWith(prefix) ? (findModel(id, overrides) ?? []) : []));
  return models.toSorted((one, other) => one.prices.input - other.prices.input)[0];
}

/** Models with a window of 1M if a beta header asked for it. A log does not record the header. */
const millionBetaIds: ReadonlySet<string> = new Set(["claude-sonnet-4", "claude-sonnet-4-5"]);
export const hasMillionBeta = ({ id }: Pick<Model, "id">): boolean => millionBetaIds.has(id);

/** Defaults for an unknown model that the user defines: it costs nothing and caches everything. */
const unknownModel = {
  windowTokens: windowTokensDefault,
  outputTokensMax: outputTokensMaxDefault,
  cachePrefixTokensMin: 0,
  prices: usualPrices(0, 0),
  thinking: "free",
} as const;

/**
 * The model with the longest id that is a prefix of the name. A date or a `[1m]` after the id does not matter; a further
 * number of one or two digits means another version, which is unknown.
 */
export function findModel(name: string, overrides: readonly ModelOverride[] = []): Model | undefined {
  const known = findLongestMatch({ models: knownModels, name, otherModel: /^(?:\d|[.-]\d{1,2}(?!\d))/ });
  const override = findLongestMatch({ models: overrides, name, otherModel: /^\d/ });
  if (override === undefined) return known;
  const read = modelShape.safeParse({ ...unknownModel, ...known, ...override });
  return read.success ? read.data : undefined;
}

/** `otherModel`: what follows the id if the name means another model. */
function findLongestMatch<Entry extends { readonly id: string }>({
  models,
  name,
  otherModel,
}: {
  readonly models: readonly Entry[];
  readonly name: string;
  readonly otherModel: RegExp;
}): Entry | undefined {
  if (models.length === 0) return undefined;
  const bare = name.replace(providerPrefix, "");
  const spellings = [...new Set([name, bare, bare.replaceAll(/(\d)\.(?=\d)/g, "$1-")])];
  let found: Entry | undefined;
  for (const model of models) {
    const fits = spellings.some(
      (spelling) => spelling.startsWith(model.id) && !otherModel.test(spelling.slice(model.id.length)),
    );
    if (fits && model.id.length > (found?.id.length ?? -1)) found = model;
  }
  return found;
}

/** `anthropic/claude-…`, `us.anthropic.claude-…`: how gateways and clouds name the same models. */
const providerPrefix = /^(?:[a-z-]+\/)*(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?/;

/** Tokens that a provider adds to a prompt for having tools at all, by whether one of them is forced. */
export interface ToolOverhead {
  readonly auto: number;
  readonly forced: number;
}

/** By prefix of the model's id; a longer prefix comes before a shorter one that it contains. As published in November 2026. */
const overheadByModel: readonly (readonly [string, ToolOverhead])[] = [
  ["claude-opus-5", { auto: 286, forced: 406 }],
  ["claude-opus-4-8", { auto: 290, forced: 410 }],
  ["claude-opus-4-7", { auto: 675, forced: 804 }],
  ["claude-opus-4-6", { auto: 497, forced: 589 }],
  ["claude-sonnet-4-6", { auto: 497, forced: 589 }],
  ["claude-sonnet-5", { auto: 354, forced: 474 }],
  ["claude-haiku-4-5", { auto: 496, forced: 588 }],
];

/** For a model of this provider without a published figure. */
const usualOverhead: ToolOverhead = { auto: 346, forced: 313 };

export const toolOverhead = (modelId: string): ToolOverhead =>
  overheadByModel.find(([id]) => modelId.startsWith(id))?.[1] ?? usualOverhead;

interface WireModel {
  /** The provider's name for it. */
  readonly id: string;
  /** The betas that its window needs. */
  readonly betas: readonly string[];
}

const millionSuffix = /\[1m\]$/i;

export const hasMillionSuffix = (name: string): boolean => millionSuffix.test(name);

/**
 * How a request names a model. `[1m]` is the user's way to ask for the large window and not part of the name: providers
 * answer "not found" to it. Models that always have this window need no beta.
 */
export function wireModel(name: string): WireModel {
  if (!hasMillionSuffix(name)) return { id: name, betas: [] };
  const known = findModel(name);
  const isLargeAnyway = known !== undefined && known.windowTokens >= windowTokensMillion;
  return { id: name.replace(millionSuffix, ""), betas: isLargeAnyway ? [] : [millionBeta] };
}

export const millionBeta = "context-1m-2025-08-07";

interface ModelName {
  readonly line: string;
  readonly version: number;
}

/** `claude-opus-4-8-20260101` is line opus, version 4.08. A name without a version counts as the newest. */
export function modelName(id: string): ModelName {
  const found = /(haiku|sonnet|opus|fable|mythos)-(\d{1,2})(?:-(\d{1,2})(?!\d))?/.exec(id);
  if (found !== null) return { line: found[1] ?? "", version: Number(found[2]) + Number(found[3] ?? 0) / 100 };
  const old = /claude-(\d)-(\d)-(haiku|sonnet|opus)/.exec(id);
  return old === null
    ? { line: "", version: 99 }
    : { line: old[3] ?? "", version: Number(old[1]) + Number(old[2]) / 100 };
}

/**
 * The factor from one model's tokens to another's for the same text. 1 if they count alike, or if one tokenizer is
 * unknown.
 */
export function tokenizerRatio(from: string | undefined, to: string | undefined): number {
  if (from === to) return 1;
  const [before, after] = [from, to].map((model) => (model === undefined ? undefined : tokenizerWeight(model)));
  return before === undefined || after === undefined ? 1 : after / before;
}

const olderClaude = 1.15;

/** Tokens for the same text, relative to o200k. Since 4.7 Claude takes 30 % more than before. */
function tokenizerWeight(model: string): number | undefined {
  if (/claude/i.test(model)) return modelName(model).version < 4.07 ? olderClaude : olderClaude * 1.3;
  return isOpenAiModel(model) ? 1 : undefined;
}

/**
 * Rates for our own texts, prompts and tool definitions, before a model has counted anything: the default rates, padded
 * by what its tokenizer is known to take in addition. The default rates are 8 % above what o200k counts for such texts.
 */
export function firstRates(model: string | undefined): Rates {
  return scaleRates(defaultRates, model === undefined ? uncalibratedPadding : tokenizerPadding(model));
}

/** Since 4.7 Claude takes 30 % more tokens for the same text than before. An unknown tokenizer is assumed to be expensive. */
function tokenizerPadding(model: string): number {
  if (/claude/i.test(model)) return modelName(model).version < 4.07 ? olderClaude : uncalibratedPadding;
  return isOpenAiModel(model) ? 1 : uncalibratedPadding;
}

const isOpenAiModel = (model: string): boolean => /(?:^|\/)(?:gpt-\d|o\d)/i.test(model);
