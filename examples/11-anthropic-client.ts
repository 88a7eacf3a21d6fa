import Anthropic from "@anthropic-ai/sdk";
import { withContext } from "palimpsest/anthropic";
import { simulated } from "./simulated.ts";

const client = withContext(new Anthropic(simulated), { contextTokens: 30_000 }); // the one line
const tools = [{ name: "read", description: "Reads a file.", input_schema: { type: "object" as const } }];
const messages: Anthropic.MessageParam[] = [];

// An agent's usual loop: the list grows for ever, and every request fits.
for (const task of ["Fix the failing test", "Now the next one", "And the last one"]) {
  messages.push({ role: "user", content: task });
  for (;;) {
    const { content } = await client.messages.create({
      model: "claude-sonnet-5-5",
      max_tokens: 4_000,
      tools,
      messages,
    });
    messages.push({ role: "assistant", content });
    const calls = content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) break;
    const results = calls.map(({ id, input }): Anthropic.ToolResultBlockParam => {
      return { type: "tool_result", tool_use_id: id, content: `${JSON.stringify(input)} ${"some code; ".repeat(600)}` };
    });
    messages.push({ role: "user", content: results });
  }
}
const context = await client.context;
console.log(`${messages.length} messages; the last request had ${context.report().used} tokens`);
for (const { kind, because } of context.receipts()) console.log(kind, because ?? "");
await client.closeContext();
