import { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { contextProcessor, recallTool } from "palimpsest/mastra";
import { z } from "zod";
import { serveSimulated } from "./simulated.ts";

const server = await serveSimulated();
const inputSchema = z.object({ path: z.string() });
const execute = ({ path }: z.infer<typeof inputSchema>) => Promise.resolve(`${path}: ${"some code; ".repeat(1_300)}`);
const read = createTool({ id: "read", description: "Reads a file.", inputSchema, execute });
const processor = contextProcessor({ contextTokens: 24_000 }); // the one line
const agent = new Agent({
  id: "fixer",
  name: "Fixer",
  instructions: "You fix tests.",
  model: { id: "openai/gpt-5", url: `${server.url}/v1`, apiKey: "none" },
  tools: { read, recall: recallTool(processor) },
  memory: new MockMemory({ options: { lastMessages: 1_000 } }), // or Memory of @mastra/memory
  inputProcessors: [processor],
  errorProcessors: [processor],
});
for (const task of ["Fix the failing test", "Now the next one"])
  await agent.generate(task, { maxSteps: 50, memory: { thread: "fixing", resource: "ada" } });

const context = await processor.contextFor("fixing");
console.log(`the last request had ${context?.report().used} tokens`);
for (const { kind, because } of context?.receipts() ?? []) console.log(kind, because ?? "");
await processor.closeContexts();
await server.close();
