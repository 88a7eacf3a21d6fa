import { Agent, MemorySession, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { withContext } from "palimpsest/openai-agents";
import { z } from "zod";
import { simulated } from "./simulated.ts";

setTracingDisabled(true); // traces would be sent to OpenAI
const read = tool({
  name: "read",
  description: "Reads a file.",
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => `${path}: ${"some code; ".repeat(900)}`,
});
const agent = new Agent({ name: "fixer", model: "gpt-5", tools: [read] });

const session = withContext(new MemorySession(), { contextTokens: 30_000 }); // the one line
const provider = new OpenAIProvider({ openAIClient: new OpenAI(simulated) });
const runner = new Runner({ modelProvider: session.wrapProvider(provider) });
for (const task of ["Fix the failing test", "Now the next one", "And the last one"])
  await runner.run(agent, task, { session, maxTurns: 50 });

const [context, items] = [await session.context, await session.getItems()];
console.log(`${items.length} items; the last request had ${context.report().used} tokens`);
for (const { kind, because } of context.receipts()) console.log(kind, because ?? "");
await session.closeContext();
