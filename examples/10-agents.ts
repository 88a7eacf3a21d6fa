import Anthropic from "@anthropic-ai/sdk";
import { type Context, openContext, type ToolCall } from "palimpsest";
import { run, simulatedWithAgents } from "./simulated.ts";

const read = { name: "read", description: "Reads a file.", input_schema: { type: "object" as const } };
const agent = {
  name: "agent",
  description: "Has a task done. A reader knows nothing but its task; a fork knows this whole conversation.",
  input_schema: {
    type: "object" as const,
    properties: { type: { enum: ["reader", "fork"] }, task: { type: "string" } },
    required: ["type", "task"],
  },
};
const client = new Anthropic(simulatedWithAgents);
const context = await openContext({ model: "claude-sonnet-5-5", system: "You fix tests.", tools: [read, agent] });

await context.user(`Our rules: ${"the gauge stays as it is. ".repeat(1_000)}`);
await answer(context);
await context.user("Why does the test fail?");
console.log(await answer(context));

const { byAgent, bySource, session } = context.costs();
for (const [name, { requests, tokensByKind, totalNanos }] of Object.entries({
  main: bySource.main ?? session,
  ...byAgent,
}))
  console.log(
    `${name.padEnd(8)} requests: ${requests}, ${tokensByKind.cacheWrite5m} tokens written to the cache, ` +
      `${tokensByKind.cacheRead} read from it, $${(totalNanos / 1e9).toFixed(4)}`,
  );
console.log(`together $${(session.totalNanos / 1e9).toFixed(4)}`);
await context.close();

/** Runs a conversation until the model answers without a call. The calls of one reply run together. */
async function answer(conversation: Context<"anthropic">): Promise<string> {
  for (;;) {
    const { params } = await conversation.next();
    const reply = await client.messages.create(params);
    const calls = await conversation.assistant(reply);
    if (calls.length === 0) return reply.content.map((block) => (block.type === "text" ? block.text : "")).join("");
    const results = await Promise.all(calls.map((call) => resultOf(conversation, call)));
    for (const [at, call] of calls.entries()) await conversation.toolResult(call.id, results[at] ?? "");
  }
}

/** Only the answer of an agent comes back. Forks of one reply share one cached prefix: the first one's reply opens the way. */
async function resultOf(parent: Context<"anthropic">, call: ToolCall): Promise<string> {
  if (call.name !== "agent") return await run(call);
  const { type, task = "" } = call.input;
  if (typeof task !== "string") return "The task must be a text.";
  await using child =
    type === "fork"
      ? await parent.fork({ task })
      : await parent.openAgent({ system: "You read files.", tools: [read], task });
  return await answer(child);
}
