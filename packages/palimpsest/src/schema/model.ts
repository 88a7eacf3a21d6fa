import { z } from "zod";

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
