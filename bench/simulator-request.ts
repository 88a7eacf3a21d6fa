import type { JsonObject } from "../packages/palimpsest/src/schema/json.ts";

export const simulatorHeaders = {
  "content-type": "application/json",
  "x-api-key": "sk-bench",
  "anthropic-version": "2023-06-01",
};

/** Rounds with one call each; 400 of them are about 200,000 tokens. */
export function conversation(count: number): JsonObject[] {
  const messages: JsonObject[] = [{ role: "user", content: "Fix the failing test." }];
  for (let turn = 1; turn < count; turn += 1) {
    const id = `toolu_${turn}`;
    messages.push(
      {
        role: "assistant",
        content: [
          { type: "text", text: `Step ${turn}.` },
          { type: "tool_use", id, name: "read", input: { path: `src/file-${turn}.ts` } },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: id,
            content: `${turn}: const value = compute(${turn}, "${"ab ".repeat(20)}");\n`.repeat(14),
          },
        ],
      },
    );
  }
  return messages;
}

export const request = (messages: JsonObject[]): JsonObject => ({
  model: "claude-sonnet-5",
  max_tokens: 500,
  cache_control: { type: "ephemeral" },
  tools: [{ name: "read", input_schema: { type: "object" } }],
  messages,
});
