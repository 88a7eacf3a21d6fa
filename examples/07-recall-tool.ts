import Anthropic from "@anthropic-ai/sdk";
import { type Context, openContext, type ToolCall } from "palimpsest";
import { run, simulated } from "./simulated.ts";

// Cleared and summarised content leaves ids: with this tool the model gets it back.
const recall = {
  name: "recall",
  description: "Finds what was said earlier, or gives the whole of what an id stands for.",
  input_schema: { type: "object" as const, properties: { query: { type: "string" } }, required: ["query"] },
};
const read = { name: "read", description: "Reads a file.", input_schema: { type: "object" as const } };
const client = new Anthropic(simulated);
const context = await openContext({ model: "claude-sonnet-5-5", tools: [read, recall], contextTokens: 30_000 });

await context.user("Read the files, then tell me what gauge is.");
for (;;) {
  const { params } = await context.next();
  const calls = await context.assistant(await client.messages.create(params));
  if (calls.length === 0) break;
  for (const call of calls)
    await context.toolResult(call.id, call.name === "recall" ? await recalled(context, call) : await run(call));
}
console.log(await recalled(context, { id: "", name: "recall", input: { query: "src/3.ts" } }));
await context.close();

async function recalled(from: Context<"anthropic">, { input }: ToolCall): Promise<string> {
  const query = typeof input["query"] === "string" ? input["query"] : "";
  const found = await from.expand(query);
  if (found.kind === "result") return new TextDecoder().decode(found.bytes);
  const hits = await from.recall(query);
  return hits.map(({ id, snippet }) => `${id}: ${snippet}`).join("\n") || "Nothing was found.";
}
