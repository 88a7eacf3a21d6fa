// @ts-nocheck: the packages are installed beside the copy that runs, not here.
import { createAnthropic } from "@ai-sdk/anthropic";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { z } from "zod";
import {
  apiKey,
  bashDescription,
  instructions,
  printAnswer,
  roundsMax,
  runShell,
  task,
  windowTokens,
} from "./driver.ts";

/** With its memory: what is over the window becomes observations. */
const model = createAnthropic({ apiKey, baseURL: `${task.baseUrl}/v1` })(task.model);
const observationalMemory =
  windowTokens === undefined ? false : { model, observation: { messageTokens: windowTokens } };
const memory = new Memory({
  storage: new LibSQLStore({ id: "memory", url: `file:${process.cwd()}/memory.db` }),
  options: { lastMessages: 20, observationalMemory },
});
const bash = createTool({
  id: "bash",
  description: bashDescription,
  inputSchema: z.object({ command: z.string() }),
  execute: ({ command }) => runShell(command),
});
const agent = new Agent({ id: "runner", name: "Runner", instructions, model, memory, tools: { bash }, maxRetries: 3 });
const stream = await agent.stream(task.prompt, {
  maxSteps: roundsMax,
  memory: { thread: "task", resource: "user" },
  providerOptions: { anthropic: { thinking: { type: "adaptive" } } },
});
await stream.consumeStream();
if (stream.error !== undefined) throw stream.error;
printAnswer(await stream.text);
