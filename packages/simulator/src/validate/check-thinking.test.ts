import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import {
  call,
  judged,
  models,
  result,
  says,
  text,
  thinking,
  tool,
  user,
} from "../../../../test/fixture/wire-request.ts";

const hello = user(text("hello"));
const enabled = { type: "enabled", budget_tokens: 1_024 };
const adaptive = { type: "adaptive" };
const opening = (path: string, type: string): string =>
  `${path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks). To avoid this requirement, disable \`thinking\`.`;
const binding = { block_binding: { prefix_mismatch_behavior: "drop_block" } };

describe("thinking", () => {
  holdRules([
    {
      rule: "of kind enabled is refused by models since 4.7",
      refused: { thinking: enabled },
      on: { model: models.new },
      message:
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
      allowed: { thinking: enabled },
      allowedOn: { model: models.between },
    },
    {
      rule: "of kind adaptive is refused by models before 4.6",
      refused: { thinking: adaptive },
      on: { model: models.old },
      message: "adaptive thinking is not supported on this model",
      allowed: { thinking: adaptive },
      allowedOn: { model: models.between },
    },
    {
      rule: "between tools is refused by models before 4.7",
      refused: { thinking: { type: "between_tools" } },
      on: { model: models.between },
      message: "between_tools thinking is not supported on this model",
      allowed: { thinking: { type: "between_tools" } },
      allowedOn: { model: models.new },
    },
    {
      rule: "has a budget of at least 1024 tokens",
      refused: { thinking: { type: "enabled", budget_tokens: 1_023 } },
      message: "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
      allowed: { thinking: enabled },
    },
    {
      rule: "has a budget below max_tokens",
      refused: { thinking: { type: "enabled", budget_tokens: 2_000 } },
      message: "`max_tokens` must be greater than `thinking.budget_tokens`",
      allowed: { thinking: { type: "enabled", budget_tokens: 1_999 } },
    },
    {
      rule: "may have a budget over max_tokens where it comes between calls",
      refused: { thinking: { type: "enabled", budget_tokens: 9_000 } },
      message: "`max_tokens` must be greater than `thinking.budget_tokens`",
      allowed: { thinking: { type: "enabled", budget_tokens: 9_000 } },
      allowedOn: { betas: ["interleaved-thinking-2025-05-14"] },
    },
    {
      rule: "leaves the temperature alone",
      refused: { thinking: enabled, temperature: 0.5 },
      message: "`temperature` may only be set to 1 when thinking is enabled.",
      allowed: { thinking: enabled, temperature: 1 },
    },
    {
      rule: "leaves top_p nearly alone",
      refused: { thinking: adaptive, top_p: 0.9 },
      on: { model: models.new },
      message: "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
      allowed: { thinking: adaptive, top_p: 0.95 },
    },
    {
      rule: "leaves top_k alone",
      refused: { thinking: enabled, top_k: 5 },
      message: "`top_k` must be unset when thinking is enabled.",
      allowed: { thinking: { type: "disabled" }, top_k: 5 },
    },
    {
      rule: "goes not with a forced tool",
      refused: { thinking: enabled, tools: [tool("a")], tool_choice: { type: "any" } },
      message: "Thinking may not be enabled when tool_choice forces tool use.",
      allowed: { thinking: enabled, tools: [tool("a")], tool_choice: { type: "auto" } },
    },
    {
      rule: "is bound as asked only with the beta",
      refused: { thinking: { ...adaptive, ...binding } },
      on: { model: models.bound },
      message: "thinking.adaptive.block_binding: Extra inputs are not permitted",
      allowed: { thinking: { ...adaptive, ...binding } },
      allowedOn: { model: models.bound, betas: ["thinking-binding-controls-2026-08-01"] },
    },
    {
      rule: "shows updates only with the beta",
      refused: { thinking: { ...adaptive, display: "updates" } },
      on: { model: models.new },
      message: "thinking.adaptive.display: Input should be 'summarized' or 'omitted'",
      allowed: { thinking: { ...adaptive, display: "updates" } },
      allowedOn: { model: models.new, betas: ["thinking-display-updates-2026-08-18"] },
    },
    {
      rule: "does not end a turn",
      refused: { messages: [hello, says(text("a"), thinking()), hello] },
      message: "messages.1: The final block in an assistant message cannot be `thinking`.",
      allowed: { messages: [hello, says(thinking()), says(text("a")), hello] },
    },
    {
      rule: "opens a tool loop that still goes on",
      refused: { thinking: enabled, messages: [hello, says(call("x")), user(result("x"))] },
      message: opening("messages.1.content.0", "tool_use"),
      allowed: { thinking: enabled, messages: [hello, says(thinking(), call("x")), user(result("x"))] },
    },
    {
      rule: "need not open every reply of a loop, only the first",
      refused: {
        thinking: enabled,
        messages: [hello, says(text("a")), user(text("b")), says(text("c"), call("x")), user(result("x"), text("d"))],
      },
      message: opening("messages.3.content.0", "text"),
      allowed: {
        thinking: enabled,
        messages: [hello, says(thinking(), call("x")), user(result("x")), says(call("y")), user(result("y"))],
      },
    },
  ]);

  it("may be missing in loops that are over, and everywhere where it is adaptive", () => {
    const over = [hello, says(call("x")), user(result("x")), says(text("a")), hello];
    expect(judged({ thinking: enabled, messages: over })).toBeUndefined();
    const open = [hello, says(call("x")), user(result("x"))];
    expect(judged({ thinking: adaptive, messages: open }, { model: models.new })).toBeUndefined();
  });

  it("is not held against max_tokens in a count, which has none", () => {
    expect(judged({ thinking: { ...enabled, budget_tokens: 9_000 } }, { endpoint: "count_tokens" })).toBeUndefined();
  });
});
