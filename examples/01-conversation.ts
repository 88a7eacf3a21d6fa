import Anthropic from "@anthropic-ai/sdk";
import { openContext } from "palimpsest";
import { run, simulated } from "./simulated.ts";

const client = new Anthropic(simulated);
const read = { name: "read", description: "Reads a file.", input_schema: { type: "object" as const } };
const context = await openContext({ model: "claude-sonnet-5-5", system: "You fix tests.", tools: [read] });

await context.user("Fix the failing test");
for (;;) {
  const request = await context.next(); // clears results when that saves money, summarises when it must; the request always fits
  const reply = await client.messages.create(request.params);
  const calls = await context.assistant(reply);
  if (calls.length === 0) break;
  for (const call of calls) await context.toolResult(call.id, await run(call));
}
console.log(context.receipts(), context.costs().session, context.report().used);
await context.close();
