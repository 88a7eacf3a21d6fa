import type { ServerClearRule } from "../../layers/policy.ts";
import type { Message } from "../../schema/block.ts";
import type { ToolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { cacheDeletionsMax, cacheEditsBeta } from "../../schema/wire/cache-edits.ts";
import type { Numbers } from "../../settings/numbers.ts";
import { fileActOf } from "../../tokens/file-act.ts";
import type { Conversation } from "./conversation.ts";
import type { ReckonedCache } from "./reckoned-cache.ts";
import { nothingAsked, type ServerAsks } from "./server-asks.ts";
import { canServerCompact, serverCompactionAsks } from "./server-compaction.ts";

export interface AskingInput {
  readonly numbers: Numbers;
  readonly isClearable: (tool: string) => boolean;
  /** As they are sent. */
  readonly messages: readonly Message[];
  /** By the ids that the messages have. */
  readonly deleted: ReadonlySet<ToolUseId>;
}

/**
 * Results that the server is asked to leave out: in its cache by reference, or by its own rule. The rule is the same from
 * request to request, since another one is another entry in its cache. No server takes both for results, so its rule for
 * them is left out wherever it offers deletions and the policy makes them: from the first request on, not from the first
 * deletion.
 */
export function serverAsks(conversation: Conversation, input: AskingInput): ServerAsks {
  const { cache } = conversation;
  if (cache === undefined) return conversation.inheritedAsks ?? nothingAsked;
  const byRule = canServerCompact(conversation, input.numbers)
    ? serverCompactionAsks
    : ruleAsks(conversation, { ...input, cache });
  cache.asks = byRule;
  const ids = canDelete(cache) ? deletableIds(input) : [];
  if (ids.length === 0) return byRule;
  const deletions = ids.map((id) => ({ type: "tool_result", tool_use_id: id }));
  return {
    params: { ...byRule.params, cache_edits: { deletions } },
    betas: [...byRule.betas, cacheEditsBeta],
  };
}

/** Whether the server takes deletions at all: another one than the session began with may not, and would refuse every request. */
const canDelete = ({ offers }: Pick<ReckonedCache, "offers">): boolean => offers?.has("cache-edits") === true;

/** What is deleted and stands in these messages, answered: servers refuse a request that names any other result. */
function deletableIds({ messages, deleted }: Pick<AskingInput, "messages" | "deleted">): readonly ToolUseId[] {
  if (deleted.size === 0) return [];
  const answered = messages.slice(
    0,
    messages.findLastIndex(({ role }) => role === "assistant"),
  );
  const ids = answered.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === "tool_result" && deleted.has(block.tool_use_id) ? [block.tool_use_id] : [],
    ),
  );
  return [...new Set(ids)].slice(0, cacheDeletionsMax);
}

const contextManagementBeta = "context-management-2025-06-27";

function ruleAsks(
  { baseline }: Conversation,
  { numbers, isClearable, cache, deleted }: AskingInput & { readonly cache: ReckonedCache },
): ServerAsks {
  const { byServer: rule, inCache } = numbers.policy.clear;
  const isOn = numbers.switches["clear.api"].value && cache.offers?.has("context-edits") === true;
  if (rule === undefined || !isOn) return nothingAsked;
  const deletes =
    canDelete(cache) && (deleted.size > 0 || (inCache !== undefined && numbers.switches["clear.cacheEdits"].value));
  const names = baseline.tools.map(({ name }) => name);
  const excluded = names.filter((name) => !isClearable(name));
  const inputs = names.filter((name) => fileActOf(name) === "write");
  const edits = [
    ...(rule.thinking === "asked" ? [thinkingEdit(cache.thinkingKept)] : []),
    ...(deletes ? [] : [toolUsesEdit(rule, { excluded, inputs })]),
  ];
  if (edits.length === 0) return nothingAsked;
  return { params: { context_management: { edits } }, betas: [contextManagementBeta] };
}

const thinkingEdit = (kept: ReckonedCache["thinkingKept"]): JsonObject => ({
  type: "clear_thinking_20251015",
  keep: kept === "all" ? "all" : { type: "thinking_turns", value: 1 },
});

interface ToolNames {
  readonly excluded: readonly string[];
  /** Their waste is in what they are called with. */
  readonly inputs: readonly string[];
}

function toolUsesEdit(rule: ServerClearRule, { excluded, inputs }: ToolNames): JsonObject {
  const { triggerTokens, clearTokensMin, keepResults } = rule;
  return {
    type: "clear_tool_uses_20250919",
    trigger: { type: "input_tokens", value: triggerTokens },
    ...(keepResults === undefined ? {} : { keep: { type: "tool_uses", value: keepResults } }),
    ...(clearTokensMin === undefined ? {} : { clear_at_least: { type: "input_tokens", value: clearTokensMin } }),
    ...(excluded.length === 0 ? {} : { exclude_tools: [...excluded] }),
    ...(inputs.length === 0 ? {} : { clear_tool_inputs: [...inputs] }),
  };
}
