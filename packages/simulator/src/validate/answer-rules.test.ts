import { describe } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { models, tool } from "../../../../test/fixture/wire-request.ts";

const none = { max_tokens: 0 };

describe("the answer", () => {
  holdRules([
    {
      rule: "is no longer than the model can write",
      refused: { max_tokens: 64_001 },
      message: "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
      allowed: { max_tokens: 64_000 },
    },
    {
      rule: "may be longer on newer models",
      refused: { max_tokens: 200_000 },
      on: { model: models.new },
      message: "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for claude-opus-5",
      allowed: { max_tokens: 128_000 },
    },
    {
      rule: "stops at something visible",
      refused: { stop_sequences: ["END", "\n"] },
      message: "stop_sequences.1: each stop sequence must contain non-whitespace",
      allowed: { stop_sequences: ["END", "\nEND"] },
    },
  ]);
});

describe("a request for no tokens, which only writes the cache", () => {
  holdRules([
    {
      rule: "has no stream",
      refused: { ...none, stream: true },
      message: "stream: streaming is not supported when `max_tokens` is 0",
      allowed: { ...none, stream: false },
    },
    {
      rule: "has no thinking",
      refused: { ...none, thinking: { type: "enabled", budget_tokens: 1_024 } },
      message: "thinking: thinking may not be enabled when `max_tokens` is 0",
      allowed: { ...none, thinking: { type: "disabled" } },
    },
    {
      rule: "has no adaptive thinking either",
      refused: { ...none, thinking: { type: "adaptive" } },
      on: { model: models.new },
      message: "thinking: thinking may not be enabled when `max_tokens` is 0",
      allowed: none,
    },
    {
      rule: "has no output format",
      refused: { ...none, output_config: { format: { type: "json_schema" } } },
      message: "output_config.format: an output format is not supported when `max_tokens` is 0",
      allowed: { ...none, output_config: { effort: "low" } },
    },
    {
      rule: "forces no tool",
      refused: { ...none, tools: [tool("a")], tool_choice: { type: "tool", name: "a" } },
      message: "tool_choice: forced tool use is not supported when `max_tokens` is 0",
      allowed: { ...none, tools: [tool("a")], tool_choice: { type: "auto" } },
    },
  ]);
});
