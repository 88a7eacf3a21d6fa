import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, isStepCount, tool, wrapLanguageModel } from "ai";
import { contextMiddleware } from "palimpsest/ai-sdk";
import { z } from "zod";
import { simulated } from "./simulated.ts";

const middleware = contextMiddleware({ contextTokens: 30_000 });
const anthropic = createAnthropic({ apiKey: simulated.apiKey, fetch: simulated.fetch });
const model = wrapLanguageModel({ model: anthropic("claude-sonnet-5-5"), middleware }); // the one line

const read = tool({
  description: "Reads a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => Promise.resolve(`${path}: ${"some code; ".repeat(1_600)}`),
});
const { text, steps } = await generateText({
  model,
  prompt: "Fix the failing test",
  tools: { read },
  stopWhen: isStepCount(40),
});

const context = await middleware.context;
console.log(`${steps.length} steps; the last prompt had ${context.report().used} tokens: ${text}`);
for (const { kind, because } of context.receipts()) console.log(kind, because ?? "");
await middleware.closeContext();
