import { describe } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { models } from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

const clearing = { model: models.new, betas: ["context-management-2025-06-27"] };
const compacting = { model: models.new, betas: ["compact-2026-01-12"] };
const both = { model: models.new, betas: [...clearing.betas, ...compacting.betas] };
const edits = (...list: JsonObject[]): JsonObject => ({ context_management: { edits: list } });
const edit = (at: number): string => `context_management.edits.${at}`;
const toolUses = (more: JsonObject = {}): JsonObject => ({ type: "clear_tool_uses_20250919", ...more });
const thinking = (more: JsonObject = {}): JsonObject => ({ type: "clear_thinking_20251015", ...more });
const compact = (more: JsonObject = {}): JsonObject => ({ type: "compact_20260112", ...more });
const unknown = (type: string, ...known: string[]): string =>
  `Input tag '${type}' found using 'type' does not match any of the expected tags: ${known.map((name) => `'${name}'`).join(", ")}`;
const tokens = (value: number): JsonObject => ({ type: "input_tokens", value });
const uses = (value: number): JsonObject => ({ type: "tool_uses", value });

describe("edits that a request asks for", () => {
  holdRules([
    {
      rule: "are a list",
      refused: { context_management: { edits: {} } },
      on: clearing,
      message: "context_management.edits: Input should be a valid list",
      allowed: { context_management: {} },
    },
    {
      rule: "stand in a field that holds nothing else",
      refused: { context_management: { edit: [] } },
      on: clearing,
      message: "context_management.edit: Extra inputs are not permitted",
      allowed: edits(),
    },
    {
      rule: "are of a known type",
      refused: edits({ type: "clear_everything" }),
      on: both,
      message: `${edit(0)}: ${unknown("clear_everything", "clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112")}`,
      allowed: edits(thinking(), toolUses(), compact()),
    },
    {
      rule: "that clear need the beta for context management",
      refused: edits(toolUses()),
      on: compacting,
      message: `${edit(0)}: ${unknown("clear_tool_uses_20250919", "compact_20260112")}`,
      allowed: edits(toolUses()),
      allowedOn: clearing,
    },
    {
      rule: "that compact need the beta for compaction, beside others too",
      refused: edits(thinking(), compact()),
      on: clearing,
      message: `${edit(1)}: ${unknown("compact_20260112", "clear_tool_uses_20250919", "clear_thinking_20251015")}`,
      allowed: edits(thinking(), compact()),
      allowedOn: both,
    },
    {
      rule: "clear thinking before anything else",
      refused: edits(toolUses(), thinking()),
      on: clearing,
      message: `${edit(1)}: \`clear_thinking_20251015\` must be the first edit when it is combined with others`,
      allowed: edits(thinking(), toolUses()),
    },
    {
      rule: "clear thinking before a compaction",
      refused: edits(compact(), thinking()),
      on: both,
      message: `${edit(1)}: \`clear_thinking_20251015\` must be the first edit when it is combined with others`,
      allowed: edits(compact(), toolUses()),
    },
    {
      rule: "are listed once each",
      refused: edits(toolUses(), toolUses({ keep: uses(1) })),
      on: clearing,
      message: `${edit(1)}: \`clear_tool_uses_20250919\` is listed already, as edit 0`,
      allowed: edits(toolUses({ keep: uses(1) })),
    },
    {
      rule: "compact from 50,000 tokens on",
      refused: edits(compact({ trigger: tokens(49_999) })),
      on: compacting,
      message: `${edit(0)}.compact_20260112.trigger.value: Input should be greater than or equal to 50000`,
      allowed: edits(compact({ trigger: tokens(50_000) })),
    },
    {
      rule: "compact by tokens, not by tool uses",
      refused: edits(compact({ trigger: uses(50_000) })),
      on: compacting,
      message: `${edit(0)}.compact_20260112.trigger.type: Input should be 'input_tokens'`,
      allowed: edits(compact({ trigger: null })),
    },
    {
      rule: "clear tool uses by tokens or by their number",
      refused: edits(toolUses({ trigger: { type: "messages", value: 1 } })),
      on: clearing,
      message: `${edit(0)}.clear_tool_uses_20250919.trigger: ${unknown("messages", "input_tokens", "tool_uses")}`,
      allowed: edits(toolUses({ trigger: uses(0) })),
    },
    {
      rule: "keep a number of tool uses",
      refused: edits(toolUses({ keep: uses(-1) })),
      on: clearing,
      message: `${edit(0)}.clear_tool_uses_20250919.keep.value: Input should be greater than or equal to 0`,
      allowed: edits(toolUses({ keep: uses(0) })),
    },
    {
      rule: "clear at least a whole number of tokens",
      refused: edits(toolUses({ clear_at_least: tokens(0.5) })),
      on: clearing,
      message: `${edit(0)}.clear_tool_uses_20250919.clear_at_least.value: Input should be a valid integer, got a number with a fractional part`,
      allowed: edits(toolUses({ clear_at_least: null, exclude_tools: null, clear_tool_inputs: null })),
    },
    {
      rule: "name the tools that they leave alone",
      refused: edits(toolUses({ exclude_tools: "Read" })),
      on: clearing,
      message: `${edit(0)}.clear_tool_uses_20250919.exclude_tools: Input should be a valid list`,
      allowed: edits(toolUses({ exclude_tools: ["Read"], clear_tool_inputs: ["Write"] })),
    },
    {
      rule: "keep at least one thinking turn",
      refused: edits(thinking({ keep: { type: "thinking_turns", value: 0 } })),
      on: clearing,
      message: `${edit(0)}.clear_thinking_20251015.keep.value: Input should be greater than 0`,
      allowed: edits(thinking({ keep: { type: "thinking_turns", value: 1 } })),
    },
    {
      rule: "keep all thinking in either form",
      refused: edits(thinking({ keep: { type: "every" } })),
      on: clearing,
      message: `${edit(0)}.clear_thinking_20251015.keep: ${unknown("every", "all", "thinking_turns")}`,
      allowed: edits(thinking({ keep: { type: "all" } })),
    },
  ]);
});
