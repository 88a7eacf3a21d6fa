import { createTool, type Tool } from "@mastra/core/tools";
import { z } from "zod";
import type { ContextHandle } from "./context-processor.ts";

const input = z.object({
  query: z.string().describe("Words that were said, or an id that stands in place of something"),
});

/** For an agent's `tools`: the memory of its thread. What was cleared or summarised left ids, by which the model gets it back. */
export function recallTool({ contextFor }: ContextHandle): Tool<z.infer<typeof input>, string> {
  return createTool({
    id: "recall",
    description: "Finds what was said earlier in this conversation, or gives the whole of what an id stands for.",
    inputSchema: input,
    outputSchema: z.string(),
    execute: async ({ query }, { agent }) => {
      const context = await contextFor(agent?.threadId);
      if (context === undefined) return nothing;
      const found = await context.expand(query);
      if (found.kind === "result") return new TextDecoder().decode(found.bytes);
      const hits = await context.recall(query);
      return hits.map(({ id, snippet }) => `${id}: ${snippet}`).join("\n") || nothing;
    },
  });
}

const nothing = "Nothing was found.";
