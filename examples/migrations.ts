/**
 * Before and after, for each way of docs/migration.md, word for word. `test/docs-snippets.test.ts` compares and runs it; the
 * models are the simulator's.
 */
/* oxlint-disable eslint/no-shadow -- each has the names that it has on its page. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { ChatAnthropic } from "@langchain/anthropic";
import { trimMessages } from "@langchain/core/messages";
import { Agent } from "@mastra/core/agent";
import { MockMemory as Memory } from "@mastra/core/memory";
import { TokenLimiterProcessor } from "@mastra/core/processors";
import { generateText, pruneMessages, wrapLanguageModel } from "ai";
import {
  type AgentMiddleware,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  HumanMessage,
  summarizationMiddleware,
} from "langchain";
import { openContext } from "palimpsest";
import { contextMiddleware as aiSdkMiddleware } from "palimpsest/ai-sdk";
import { contextMiddleware } from "palimpsest/langchain";
import { contextProcessor } from "palimpsest/mastra";
import { serveSimulated, simulated } from "./simulated.ts";

const { apiKey, fetch } = simulated;
const messages = [new HumanMessage("Fix the failing test.")];

const tokenCounter = (list: readonly { text: string }[]) => list.reduce((sum, { text }) => sum + text.length / 4, 0);

async function trimming() {
  const model = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxTokens: 4_000, clientOptions: { fetch } });
  const state = { messages };
  {
    const messages = await trimMessages(state.messages, { maxTokens: 100_000, tokenCounter, strategy: "last" });
    const reply = await model.invoke(messages);
    console.log(reply.text);
  }
  const agent = createAgent({ model, tools: [], middleware: [contextMiddleware({ contextTokens: 100_000 })] });
  const { messages: replied } = await agent.invoke(state);
  console.log(replied.length);
}

async function summarizing() {
  const model = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxTokens: 4_000, clientOptions: { fetch } });
  const before: { middleware: AgentMiddleware[] } = {
    // @ts-expect-error With zod 4.6 the declared options are `never`.
    middleware: [summarizationMiddleware({ model, trigger: { tokens: 100_000 }, keep: { messages: 20 } })],
  };
  const after = { middleware: [contextMiddleware({ contextTokens: 120_000, summarizer: "own" })] };
  await createAgent({ model, tools: [], ...before }).invoke({ messages });
  await createAgent({ model, tools: [], ...after }).invoke({ messages });
}

async function clearing() {
  const model = new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey, maxTokens: 4_000, clientOptions: { fetch } });
  const before = {
    middleware: [
      contextEditingMiddleware({
        edits: [new ClearToolUsesEdit({ trigger: { tokens: 100_000 }, keep: { messages: 3 }, excludeTools: ["plan"] })],
      }),
    ],
  };
  const after = { middleware: [contextMiddleware({ contextTokens: 200_000 })] };
  await createAgent({ model, tools: [], ...before }).invoke({ messages });
  await createAgent({ model, tools: [], ...after }).invoke({ messages });
}

async function pruning() {
  const contextMiddleware = aiSdkMiddleware;
  const model = createAnthropic({ apiKey, fetch })("claude-sonnet-5-5");
  const prompt = "Fix the failing test.";
  await generateText({
    model,
    prompt,
    prepareStep: ({ messages }) => ({
      messages: pruneMessages({ messages, reasoning: "before-last-message", toolCalls: "before-last-2-messages" }),
    }),
  });
  await generateText({ model: wrapLanguageModel({ model, middleware: contextMiddleware() }), prompt });
}

async function limiting() {
  const server = await serveSimulated();
  const named = { id: "fixer", name: "Fixer", instructions: "You fix tests." };
  const model = { id: "openai/gpt-5", url: `${server.url}/v1`, apiKey: "none" } as const;
  const memory = { thread: "fixing", resource: "ada" };
  const before = {
    memory: new Memory({ options: { lastMessages: 20 } }),
    inputProcessors: [new TokenLimiterProcessor({ limit: 100_000 })],
  };
  const processor = contextProcessor({ contextTokens: 120_000 });
  const after = {
    memory: new Memory({ options: { lastMessages: 1_000 } }),
    inputProcessors: [processor],
    errorProcessors: [processor],
  };
  await new Agent({ ...named, model, ...before }).generate("Fix the failing test.", { memory });
  await new Agent({ ...named, model, ...after }).generate("Fix the failing test.", { memory });
  await processor.closeContexts();
  await server.close();
}

async function keepingRules() {
  const context = await openContext({ model: "claude-sonnet-5-5", policy: "opencode" });
  await context.user("Fix the failing test.");
  await context.close();
}

for (const run of [trimming, summarizing, clearing, pruning, limiting, keepingRules]) await run();
