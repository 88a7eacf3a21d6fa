import { z } from "zod";

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
