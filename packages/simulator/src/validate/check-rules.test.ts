import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import {
  judged,
  models,
  call,
  result,
  says,
  text,
  thinking,
  tool,
  user,
} from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { modelTraits } from "../prompt/model-traits.ts";
import { checkSize } from "./check-rules.ts";

const extra = (path: string): string => `${path}: Extra inputs are not permitted`;
const row = ([rule, fields, path, beta]: [string, JsonObject, string, string]) => ({
  rule,
  refused: fields,
  message: extra(path),
  allowed: fields,
  allowedOn: { betas: [beta] },
});
const edits = (...list: JsonObject[]): JsonObject => ({ context_management: { edits: list } });

describe("fields that need a beta", () => {
  holdRules([
    row(["context_management", edits(), "context_management", "context-management-2025-06-27"]),
    row(["context_management, for compaction", edits(), "context_management", "compact-2026-01-12"]),
    row(["mcp_servers", { mcp_servers: [] }, "mcp_servers", "mcp-client-2025-11-20"]),
    row(["speed", { speed: "fast" }, "speed", "fast-mode-2026-02-01"]),
    row(["output_format", { output_format: {} }, "output_format", "structured-outputs-2025-11-13"]),
    row([
      "safeguards",
      { safeguards: [{ type: "dangerous_tool_use", classifier_context: { v: 1 } }] },
      "safeguards",
      "dangerous-tool-use-2026-09-03",
    ]),
    row([
      "output_config.task_budget",
      { output_config: { task_budget: { type: "tokens", total: 9 } } },
      "output_config.task_budget",
      "task-budgets-2026-03-13",
    ]),
    {
      rule: "speed, on models before 5 only",
      refused: { speed: "standard" },
      on: { model: "claude-opus-4-8" },
      message: extra("speed"),
      allowed: { speed: "fast" },
      allowedOn: { model: models.new },
    },
    {
      rule: "another beta does not help",
      refused: { output_format: {} },
      on: { betas: ["compact-2026-01-12"] },
      message: extra("output_format"),
      allowed: { output_format: null, context_management: null, speed: null },
    },
  ]);
});

it("context_management needs its beta in a count too", () => {
  expect(judged(edits(), { endpoint: "count_tokens" })).toMatchObject({ message: extra("context_management") });
});

it("servers to connect to are refused also with their beta: nobody would be asked", () => {
  const servers = { mcp_servers: [{ type: "url", name: "s", url: "https://example.com/mcp" }] };
  for (const name of ["mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"])
    expect(judged(servers, { betas: [name] })).toMatchObject({
      status: 400,
      message: "mcp_servers.0: this simulator does not connect to MCP servers",
    });
});

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

const count: CountRequest = { model: "m", messages: [] };
const asking = (max_tokens: number): MessagesRequest => ({ ...count, max_tokens });

const size = (id: string, promptTokens: number, more: { maxTokens?: number; betas?: string[] } = {}) => {
  const known = findModel(id) ?? findModel("claude-haiku-4-5");
  if (known === undefined) throw new Error(`no model ${id}`);
  const model = { ...known, id };
  return checkSize({
    request: asking(more.maxTokens ?? 1),
    model,
    traits: modelTraits(model),
    betas: new Set(more.betas),
    promptTokens,
  });
};

describe("the size of a request", () => {
  it("is refused where the prompt alone is longer than the window", () => {
    expect(size("claude-haiku-4-5", 208_310)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: "prompt is too long: 208310 tokens > 200000 maximum",
    });
    expect(size("claude-haiku-4-5", 200_000)).toBeUndefined();
    expect(size("claude-opus-5", 208_310)).toBeUndefined();
    expect(size("claude-opus-5", 1_000_001)).toMatchObject({
      message: "prompt is too long: 1000001 tokens > 1000000 maximum",
    });
  });

  it("counts max_tokens on models before 4.5 only, unless a beta says otherwise", () => {
    const old = "claude-opus-4-1";
    expect(size(old, 178_959, { maxTokens: 64_000 })).toMatchObject({
      status: 400,
      message:
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
    });
    expect(size(old, 136_000, { maxTokens: 64_000 })).toBeUndefined();
    const betas = ["model-context-window-exceeded-2025-08-26"];
    expect(size(old, 178_959, { maxTokens: 64_000, betas })).toBeUndefined();
    expect(size("claude-haiku-4-5", 178_959, { maxTokens: 64_000 })).toBeUndefined();
  });

  it("is no matter of a count", () => {
    const model = findModel("claude-haiku-4-5");
    if (model === undefined) throw new Error("no model");
    const traits = modelTraits(model);
    expect(checkSize({ request: count, model, traits, betas: new Set(), promptTokens: 999_999 })).toBeUndefined();
  });
});
