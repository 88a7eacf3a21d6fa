import { ChatAnthropic } from "@langchain/anthropic";
import { type AgentMiddleware, createAgent, HumanMessage, summarizationMiddleware, tool } from "langchain";
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

const model = new ChatAnthropic({
  model: task.model,
  apiKey,
  anthropicApiUrl: task.baseUrl,
  maxTokens: outputTokensMax,
  streaming: true,
  thinking: { type: "adaptive" },
});
const bash = tool(({ command }) => runShell(command), {
  name: "bash",
  description: bashDescription,
  schema: z.object({ command: z.string() }),
});
const summaries: readonly AgentMiddleware[] =
  windowTokens === undefined
    ? []
    : // The declared options are `never` with some versions of zod.
      [summarizationMiddleware({ model, trigger: { tokens: windowTokens }, keep: { messages: 4 } } as never)];
const agent = createAgent({ model, tools: [bash], systemPrompt: instructions, middleware: summaries });
const { messages } = await agent.invoke({ messages: [new HumanMessage(task.prompt)] }, { recursionLimit: roundsMax });
printAnswer(messages.at(-1)?.text ?? "");
