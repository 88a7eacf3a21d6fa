import { z } from "zod";

/** What a preview holds: a shorter result would gain nothing by being offloaded. */
export const resultCharsMin = 2_000;
/** Whatever a tool says of itself: twice this would fill most windows. */
export const resultCharsHard = 400_000;

/** How long one tool's results may be before they are offloaded. */
export const toolLimitShape = z.strictObject({
  /** The tool's name, as the model calls it. */
  id: z.string().min(1),
  resultCharsMax: z.int().min(resultCharsMin).max(resultCharsHard),
});

export type ToolLimit = z.infer<typeof toolLimitShape>;
