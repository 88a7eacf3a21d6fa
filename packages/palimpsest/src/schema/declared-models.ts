import { z } from "zod";

/** `declared-models.json`: what servers said of their models, by the server and the model's name. */
const declaredModelShape = z.looseObject({
  windowTokens: z.int().positive().optional(),
  /** Of what is sent, where the server tells that apart from the window. */
  inputTokensMax: z.int().positive().optional(),
  asked: z.string(),
});
export const declaredModelsShape = z.looseObject({ models: z.record(z.string(), declaredModelShape) });

export type DeclaredModel = z.infer<typeof declaredModelShape>;
