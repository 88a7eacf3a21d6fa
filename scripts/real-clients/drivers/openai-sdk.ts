import OpenAI from "openai";
import { apiKey, bashDescription, instructions, printAnswer, roundsMax, runShell, task, windowTokens } from "./driver.ts";

const client = new OpenAI({ apiKey, baseURL: `${task.baseUrl}/v1` });
const parameters = {
  type: "object",
  properties: { command: { type: "string" } },
  required: ["command"],
  additionalProperties: false,
};
const run = (source: string): Promise<string> => runShell(String((JSON.parse(source) as { command: string }).command));

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
      tools: [{ type: "function", function: { name: "bash", description: bashDescription, parameters, function: run } }],
    },
    { maxChatCompletions: roundsMax },
  );
  return (await runner.finalContent()) ?? "";
}

/** A loop of ours over its streams; the server compacts at a threshold. */
async function responses(): Promise<string> {
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: task.prompt }];
  for (let round = 0; round < roundsMax; round += 1) {
    const stream = client.responses.stream({
      model: task.model,
      instructions,
      input,
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
    if (response.output.some(({ type }) => type === "compaction")) input.length = 0;
    input.push(...(response.output as OpenAI.Responses.ResponseInput));
    if (calls.length === 0) return response.output_text;
    for (const call of calls)
      input.push({ type: "function_call_output", call_id: call.call_id, output: await run(call.arguments) });
  }
  return "";
}
