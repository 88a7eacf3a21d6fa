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

const client = new OpenAI({ apiKey, baseURL: `${task.baseUrl}/v1` });
const parameters = {
  type: "object",
  properties: { command: { type: "string" } },
  required: ["command"],
  additionalProperties: false,
};
const input = z.object({ command: z.string() });
const run = (source: string): Promise<string> => runShell(input.parse(JSON.parse(source)).command);

printAnswer(task.api === "chat" ? await chat() : await responses());

/** Its own loop over tools. It has no compaction. */
async function chat(): Promise<string> {
  const runner = client.chat.completions.runTools(
    {
      model: task.model,
      stream: true,
      messages: [
        { role: "developer", content: instructions },
        { role: "user", content: task.prompt },
      ],
      tools: [
        { type: "function", function: { name: "bash", description: bashDescription, parameters, function: run } },
      ],
    },
    { maxChatCompletions: roundsMax },
  );
  return (await runner.finalContent()) ?? "";
}

/** A loop of ours over its streams; the server compacts at a threshold. */
async function responses(): Promise<string> {
  const items: OpenAI.Responses.ResponseInput = [{ role: "user", content: task.prompt }];
  for (let round = 0; round < roundsMax; round += 1) {
    const stream = client.responses.stream({
      model: task.model,
      instructions,
      input: items,
      store: false,
      include: ["reasoning.encrypted_content"],
      tools: [{ type: "function", name: "bash", description: bashDescription, parameters, strict: true }],
      ...(windowTokens === undefined
        ? {}
        : { context_management: [{ type: "compaction", compact_threshold: windowTokens }] }),
    });
    const response = await stream.finalResponse();
    const calls = response.output.filter((item) => item.type === "function_call");
    // What stands before a compaction need not be sent again.
    if (response.output.some(({ type }) => type === "compaction")) items.length = 0;
    items.push(...(response.output as OpenAI.Responses.ResponseInput));
    if (calls.length === 0) return response.output_text;
    for (const call of calls)
      items.push({ type: "function_call_output", call_id: call.call_id, output: await run(call.arguments) });
  }
  return "";
}
