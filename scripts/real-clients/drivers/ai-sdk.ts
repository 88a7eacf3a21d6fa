import { createAnthropic } from "@ai-sdk/anthropic";
import { isStepCount, pruneMessages, streamText, tool } from "ai";
import { z } from "zod";
import {
  apiKey,
  bashDescription,
  instructions,
  outputTokensMax,
  printAnswer,
  roundsMax,
  runShell,
  task,
  windowTokens,
} from "./driver.ts";

/** It has no compaction of its own, but prunes messages when it is told to. */
let failure: unknown;
const result = streamText({
  model: createAnthropic({ apiKey, baseURL: `${task.baseUrl}/v1` })(task.model),
  instructions,
  prompt: task.prompt,
  maxOutputTokens: outputTokensMax,
  tools: {
    bash: tool({
      description: bashDescription,
      inputSchema: z.object({ command: z.string() }),
      execute: ({ command }) => runShell(command),
    }),
  },
  stopWhen: isStepCount(roundsMax),
  providerOptions: { anthropic: { thinking: { type: "adaptive" }, cacheControl: { type: "ephemeral" } } },
  prepareStep: ({ steps, messages }) =>
    windowTokens === undefined || (steps.at(-1)?.usage.inputTokens ?? 0) < windowTokens
      ? {}
      : { messages: pruneMessages({ messages, reasoning: "all", toolCalls: "before-last-2-messages" }) },
  onError: ({ error }) => {
    failure = error;
  },
});
await result.consumeStream();
if (failure !== undefined) throw new Error("the stream failed", { cause: failure });
printAnswer(await result.text);
