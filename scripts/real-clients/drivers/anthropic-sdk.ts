import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import {
  apiKey,
  bashDescription,
  instructions,
  outputTokensMax,
  printAnswer,
  runShell,
  task,
  windowTokens,
} from "./driver.ts";

/** The tool runner as it is, so with threads on the server; it compacts when it is told to. */
const client = new Anthropic({ apiKey, baseURL: task.baseUrl });
const bash = betaTool({
  name: "bash",
  description: bashDescription,
  inputSchema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  run: ({ command }) => runShell(command),
});
const runner = client.beta.messages.toolRunner({
  model: task.model,
  max_tokens: outputTokensMax,
  system: instructions,
  thinking: { type: "adaptive" },
  tools: [bash],
  messages: [{ role: "user", content: task.prompt }],
  stream: true,
  ...(windowTokens === undefined ? {} : { betas: ["compact-2026-09-04"] }),
});
let answer = "";
for await (const stream of runner) {
  const { content, usage } = await stream.finalMessage();
  answer = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  const read = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  if (windowTokens !== undefined && usage.input_tokens + read > windowTokens) runner.compactBeforeNextTurn();
}
printAnswer(answer);
