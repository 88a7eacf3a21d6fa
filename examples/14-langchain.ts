import { ChatAnthropic } from "@langchain/anthropic";
import { type BaseMessage, createAgent, HumanMessage, tool } from "langchain";
import { contextMiddleware } from "palimpsest/langchain";
import { z } from "zod";
import { simulated } from "./simulated.ts";

const { apiKey, fetch } = simulated;
const model = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxTokens: 4_000, clientOptions: { fetch } });
const read = tool(({ path }) => `${path}: ${"some code; ".repeat(1_300)}`, {
  name: "read",
  description: "Reads a file.",
  schema: z.object({ path: z.string() }),
});
// It sets no cache marks: for Anthropic's cache put `anthropicPromptCachingMiddleware()` behind it.
const middleware = contextMiddleware({ contextTokens: 24_000 });
const agent = createAgent({ model, tools: [read], middleware: [middleware] }); // the one line

const thread = { configurable: { thread_id: "fixing" } };
let state: { messages: BaseMessage[] } = { messages: [] };
for (const task of ["Fix the failing test", "Now the next one"])
  state = await agent.invoke({ messages: [...state.messages, new HumanMessage(task)] }, thread);

const context = await middleware.contextFor("fixing");
console.log(`${state.messages.length} messages; the last request had ${context?.report().used} tokens`);
for (const { kind, because } of context?.receipts() ?? []) console.log(kind, because ?? "");
await middleware.closeContexts();
