import OpenAI from "openai";
import { withContext } from "palimpsest/openai";
import { simulated } from "./simulated.ts";

const client = withContext(new OpenAI(simulated), { provider: "openai-responses", contextTokens: 30_000 }); // the one line
const tools: OpenAI.Responses.FunctionTool[] = [
  { type: "function", name: "read", description: "Reads a file.", parameters: { type: "object" }, strict: false },
];
const input: OpenAI.Responses.ResponseInputItem[] = [];

for (const task of ["Fix the failing test", "Now the next one", "And the last one"]) {
  input.push({ role: "user", content: task });
  for (;;) {
    const { output } = await client.responses.create({ model: "gpt-5", tools, input, store: false });
    const calls = output.filter((item) => item.type === "function_call");
    for (const item of output) if (item.type === "message" || item.type === "reasoning") input.push(item);
    for (const call of calls) {
      const result = `${call.arguments} ${"some code; ".repeat(900)}`;
      input.push(call, { type: "function_call_output", call_id: call.call_id, output: result });
    }
    if (calls.length === 0) break;
  }
}
const context = await client.context;
console.log(`${input.length} items; the last request had ${context.report().used} tokens`);
for (const { kind, because } of context.receipts()) console.log(kind, because ?? "");
await client.closeContext();
