import { z } from "zod";

/** Kinds of models that are addressed differently; `other` is for those we do not know. */
export const promptFamilies = ["claude", "gpt", "gemini", "other"] as const;
export type PromptFamily = (typeof promptFamilies)[number];

/** Which system prompt a model gets: that of a family, or a text of the user's own. */
export const promptChoiceShape = z
  .strictObject({
    /** Beginning of the model's id; the longest that fits counts. */
    id: z.string().min(1),
    family: z.enum(promptFamilies).optional(),
    text: z.string().min(1).optional(),
  })
  .refine(({ family, text }) => (family === undefined) !== (text === undefined), "either a family or a text");
export type PromptChoice = z.infer<typeof promptChoiceShape>;
