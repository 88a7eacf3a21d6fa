import { z } from "zod";
import { tokens } from "./brand.ts";

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
