import { createAnthropic } from "@ai-sdk/anthropic";
import type { Agent } from "@mastra/core/agent";
import { MockMemory } from "@mastra/core/memory";
import { TokenLimiterProcessor } from "@mastra/core/processors";
import type { ModelMessage } from "ai";
import { contextProcessor } from "../../packages/palimpsest/src/adapter/mastra/context-processor.ts";
import { createQuietAgent, toMastraModel } from "./mastra.ts";
import {
  earlierRounds,
  farTokens,
  instantFetch,
  messagesReply,
  quietOptions,
  resultText,
  type StepSubject,
} from "./step-times.ts";

const connect = () =>
  toMastraModel(createAnthropic({ apiKey: "none", fetch: instantFetch(messagesReply) })("claude-sonnet-5-5"));

/** A user's message ends it: calls without one between them would be one message of the prompt. */
function round(at: number): readonly ModelMessage[] {
  const call = { toolCallId: `toolu_${at}`, toolName: "read" };
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: { path: `src/${at}.ts` } }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: resultText(at) } }] },
    { role: "user", content: "Go on." },
  ];
}

function stepWith(agent: Agent): () => Promise<void> {
  const messages: ModelMessage[] = [{ role: "user", content: "Read the files." }, ...earlierRounds(round)];
  return async () => {
    const { text } = await agent.generate(messages);
    messages.push({ role: "assistant", content: text }, { role: "user", content: resultText(messages.length) });
  };
}

/** The thread is in the memory: only the first step passes the list. */
function stepInThread(agent: Agent): () => Promise<void> {
  let messages: ModelMessage[] = [{ role: "user", content: "Read the files." }, ...earlierRounds(round)];
  let count = messages.length;
  return async () => {
    await agent.generate(messages, { memory: { thread: "files", resource: "bench" } });
    count += 2;
    messages = [{ role: "user", content: resultText(count) }];
  };
}

export function mastraSteps(): readonly StepSubject[] {
  const framework = "Mastra";
  const model = connect();
  const inputProcessors = [new TokenLimiterProcessor({ limit: farTokens })];
  const memory = new MockMemory({ options: { lastMessages: 1_000 } });
  const processor = contextProcessor(quietOptions);
  return [
    { framework, way: "as it is", kind: "plain", step: stepWith(createQuietAgent({ model })) },
    {
      framework,
      way: "`TokenLimiterProcessor`",
      kind: "own",
      step: stepWith(createQuietAgent({ model, inputProcessors })),
    },
    {
      framework,
      way: "memory with `lastMessages`",
      kind: "own",
      step: stepInThread(createQuietAgent({ model, memory })),
    },
    {
      framework,
      way: "`contextProcessor`",
      kind: "ours",
      step: stepWith(createQuietAgent({ model, inputProcessors: [processor] })),
      close: () => processor.closeContexts(),
    },
  ];
}
