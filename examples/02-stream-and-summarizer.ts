import Anthropic from "@anthropic-ai/sdk";
import { openContext } from "palimpsest";
import { simulatedWithRefusal } from "./simulated.ts";

const client = new Anthropic(simulatedWithRefusal);
const context = await openContext({
  model: "claude-sonnet-5-5",
  tools: [{ name: "read", description: "Reads a file.", input_schema: { type: "object" } }],
  contextTokens: 30_000,
  // A smaller model writes the summaries; without a summarizer they are made without a model.
  summarizer: {
    model: "claude-haiku-4-5",
    ask: ({ params, signal }) => client.messages.create(params, { signal }),
  },
  onEvent: (event) => {
    if (event.kind === "cleared" || event.kind === "compacted")
      console.log(`${event.kind}: ${event.tokensBefore} → ${event.tokensAfter} tokens`);
  },
});

for (let task = 1; task <= 12; task += 1) {
  await context.user(`Task ${task}: ${"look closely. ".repeat(400)}`);
  let calls = await reply();
  while (calls.length > 0) {
    for (const call of calls) await context.toolResult(call.id, "const gauge = 1;\n".repeat(200));
    calls = await reply();
  }
}
console.log(`${context.costs().session.requests} requests, ${context.report().used} tokens in the window`);
await context.close();

/** Asks until there is a reply: a refusal makes the next request smaller or plainer, or says why nothing helps. */
async function reply(): Promise<Awaited<ReturnType<typeof context.assistantStream>>> {
  for (;;) {
    const { params } = await context.next();
    try {
      return await context.assistantStream(await client.messages.create({ ...params, stream: true }));
    } catch (error) {
      const after = await context.refused(error);
      console.log(`refused: ${after.kind === "retry" ? after.because : after.advice}`);
      if (after.kind === "stop") throw new Error(after.advice, { cause: error });
      await new Promise((done) => setTimeout(done, after.afterMs));
    }
  }
}
