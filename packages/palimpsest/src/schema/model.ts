import { z } from "zod";
import { tokens } from "./brand.ts";

/** What the engine has to know of a model. Prices in dollars per million tokens. */
const pricesShape = z.strictObject({
  input: z.number().nonnegative(),
  cacheWrite5m: z.number().nonnegative(),
  cacheWrite1h: z.number().nonnegative(),
  cacheRead: z.number().nonnegative(),
  output: z.number().nonnegative(),
});

export const modelShape = z.strictObject({
  /** Beginning of the model's id; the longest that fits counts. */
  id: z.string().min(1),
  windowTokens: z.int().positive(),
  outputTokensMax: z.int().positive(),
  /** What it takes besides its reply, where that is not the window. */
  inputTokensMax: z.int().positive().optional(),
  /** A shorter prefix is silently not cached. */
  cachePrefixTokensMin: z.int().nonnegative(),
  prices: pricesShape,
  /** Other prices where the prompt is longer than this. */
  longPrompt: z.strictObject({ overTokens: z.int().positive(), prices: pricesShape }).optional(),
  /** `bound`: thinking is valid only behind the prefix it was made with. */
  thinking: z.enum(["free", "bound"]),
});

/** Users give what differs; a model that we do not know needs all of it. */
export const modelOverrideShape = modelShape.partial().extend({ id: z.string().min(1) });

export type Model = z.infer<typeof modelShape>;
export type ModelOverride = z.infer<typeof modelOverrideShape>;
export type Prices = z.infer<typeof pricesShape>;

const countedTokens = z.int().nonnegative().transform(tokens);

/** `counted-parts.json`: what servers counted for system prompts and tools, by their hash. */
const countedPartShape = z.looseObject({
  counter: z.string(),
  tokens: countedTokens,
  pieces: z.array(
    z.looseObject({
      kind: z.enum(["systemPrompt", "memoryFiles", "tools", "mcpTools"]),
      tokens: countedTokens,
      count: z.int().nonnegative(),
    }),
  ),
  deferred: z.looseObject({ tools: z.array(z.string()), tokens: countedTokens }),
  asked: z.string(),
});
export const countedPartsShape = z.looseObject({ parts: z.record(z.string(), countedPartShape) });

export type CountedPart = z.infer<typeof countedPartShape>;

/** `declared-models.json`: what servers said of their models, by the server and the model's name. */
const declaredModelShape = z.looseObject({
  windowTokens: z.int().positive().optional(),
  /** Of what is sent, where the server tells that apart from the window. */
  inputTokensMax: z.int().positive().optional(),
  asked: z.string(),
});
export const declaredModelsShape = z.looseObject({ models: z.record(z.string(), declaredModelShape) });

export type DeclaredModel = z.infer<typeof declaredModelShape>;

/** `learned-windows.json`: limits that a provider's error named, by model. */
const learnedWindowShape = z.looseObject({
  tokens: z.int().positive(),
  /** The words that said so. */
  from: z.string(),
  learned: z.string(),
});
const learnedByModel = z.record(z.string(), learnedWindowShape);
export const learnedWindowsShape = z.looseObject({
  windows: learnedByModel,
  /** Of what is sent, where the reply has a part of the window of its own. */
  inputLimits: learnedByModel.optional(),
});

export type LearnedWindow = z.infer<typeof learnedWindowShape>;
export type LearnedWindows = z.infer<typeof learnedWindowsShape>;
