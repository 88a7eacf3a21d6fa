import { z } from "zod";

/** `learned-windows.json`: limits that a provider's error named, by model. */
const learnedWindowShape = z.looseObject({
  tokens: z.int().positive(),
  /** The words that said so. */
  from: z.string(),
  learned: z.string(),
});
export const learnedWindowsShape = z.looseObject({ windows: z.record(z.string(), learnedWindowShape) });

export type LearnedWindow = z.infer<typeof learnedWindowShape>;
export type LearnedWindows = z.infer<typeof learnedWindowsShape>;
