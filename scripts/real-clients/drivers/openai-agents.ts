import {
  Agent,
  MemorySession,
  OpenAIProvider,
  OpenAIResponsesCompactionSession,
  Runner,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
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

/** Its session compacts between two runs, so it gets a second task if it is to compact. */
setTracingDisabled(true);
const client = new OpenAI({ apiKey, baseURL: `${task.baseUrl}/v1` });
const bash = tool({
  name: "bash",
  description: bashDescription,
  parameters: z.object({ command: z.string() }),
  execute: ({ command }) => runShell(command),
});
const agent = new Agent({ name: "runner", instructions, model: task.model, tools: [bash] });
const session =
  windowTokens === undefined
    ? new MemorySession()
    : new OpenAIResponsesCompactionSession({ client, model: task.model, underlyingSession: new MemorySession() });
const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client, useResponses: true }) });
const ask = async (prompt: string): Promise<string> => {
  const result = await runner.run(agent, prompt, { session, maxTurns: roundsMax, stream: true });
  await result.completed;
  return result.finalOutput ?? "";
};
const answer = await ask(task.prompt);
if (windowTokens !== undefined) await ask("What did you do?");
printAnswer(answer);
