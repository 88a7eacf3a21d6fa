import { z } from "zod";
import { tokens } from "./brand.ts";

/** Dollars per million tokens. */
const pricesShape = z.strictObject({
  input: z.number().nonnegative(),
  cacheWrite5m: z.number().nonnegative(),
  cacheWrite1h: z.number().nonnegative(),
  cacheRead: z.number().nonnegative(),
  output: z.number().nonnegative(),
});

/** What the engine has to know about a model. */
export const modelShape = z.strictObject({
  /** Prefix of the model's id; the longest match wins. */
  id: z.string().min(1),
  windowTokens: z.int().positive(),
  outputTokensMax: z.int().positive(),
  /** Limit for the request alone, if it is not the window. */
  inputTokensMax: z.int().positive().optional(),
  /** The provider does not cache a shorter prefix, without saying so. */
  cachePrefixTokensMin: z.int().nonnegative(),
  prices: pricesShape,
  /** Other prices if the prompt is longer than this. */
  longPrompt: z.strictObject({ overTokens: z.int().positive(), prices: pricesShape }).optional(),
  /** `bound`: thinking is valid only after the prefix that it was made with. */
  thinking: z.enum(["free", "bound"]),
});

/** Users specify only what differs; an unknown model needs every field. */
export const modelOverrideShape = modelShape.partial().extend({ id: z.string().min(1) });

export type Model = z.infer<typeof modelShape>;
export type ModelOverride = z.infer<typeof modelOverrideShape>;
export type Prices = z.infer<typeof pricesShape>;

const countedTokens = z.int().nonnegative().transform(tokens);

/** `counted-parts.json`: the servers' token counts of system prompts and tools, by their hash. */
const countedPartShape = z.looseObject({
  counter: z.string(),
  tokens: countedTokens,
  pieces: z.array(
    z.looseObject({
      kind: z.enum(["systemPrompt", "memory", "memoryFiles", "tools", "mcpTools"]),
      tokens: countedTokens,
      count: z.int().nonnegative(),
    }),
  ),
  deferred: z.looseObject({ tools: z.array(z.string()), tokens: countedTokens }),
  asked: z.string(),
});
export const countedPartsShape = z.looseObject({ parts: z.record(z.string(), countedPartShape) });

export type CountedPart = z.infer<typeof countedPartShape>;

/** `declared-models.json`: the servers' descriptions of their models, by the server and the model's name. */
const declaredModelShape = z.looseObject({
  windowTokens: z.int().positive().optional(),
  /** Limit for the request alone, if the server has one besides the window. */
  inputTokensMax: z.int().positive().optional(),
  asked: z.string(),
});
export const declaredModelsShape = z.looseObject({ models: z.record(z.string(), declaredModelShape) });

export type DeclaredModel = z.infer<typeof declaredModelShape>;

/** `learned-windows.json`: limits that a provider's error named, by model. */
const learnedWindowShape = z.looseObject({
  tokens: z.int().positive(),
  /** The text of the error. */
  from: z.string(),
  learned: z.string(),
});
const learnedByModel = z.record(z.string(), learnedWindowShape);
export const learnedWindowsShape = z.looseObject({
  windows: learnedByModel,
  /** Limits for the request alone, if a part of the window is reserved for the reply. */
  inputLimits: learnedByModel.optional(),
});

export type LearnedWindow = z.infer<typeof learnedWindowShape>;
export type LearnedWindows = z.infer<typeof learnedWindowsShape>;
