import type { JsonObject } from "../../schema/json.ts";
import { readServerCleared, formatServerCleared } from "../../schema/edit-kinds.ts";
import { fileAction } from "../../tokens/tool-kind.ts";
import type { Draft } from "../../transcript/draft.ts";
import { canServerCompact } from "../4-compact/compact-when-due.ts";
import type { Layer } from "../layer.ts";
import type { ServerClearRule } from "../policy.ts";
import { noServerOptions, type ServerOptionsInput, type ServerOptions, supports } from "../server/server-use.ts";

/** Asks the server to leave out old results and thinking by its own rule. Nothing changes in the view. */
export const clearByServer: Layer = {
  name: "clear.api",
  switches: ["clear.api"],
  propose: () => undefined,
  server: {
    offer: "context-edits",
    isOffered: (capabilities) => supports(capabilities, "context_management"),
    isWanted: ({ policy, isOn }) => policy.clear.byServer !== undefined && isOn("clear.api"),
    optionsByRule,
  },
};

/** Logs what the server reports to have left out of a request. */
export function serverEditsDraft(applied: readonly JsonObject[]): Draft {
  const because = `the server left out ${formatServerCleared(readServerCleared(applied))}, by its own rule`;
  return { type: "server-edits", deleted: [], applied, because };
}

const contextManagementBeta = "context-management-2025-06-27";

/** No rule for results if another layer names those to leave out; nothing at all if the server compacts. */
function optionsByRule(input: ServerOptionsInput): ServerOptions {
  const { policy, isOn, offers, tools, isClearable, thinkingKept } = input;
  const rule = policy.clear.byServer;
  if (rule === undefined || !isOn("clear.api") || offers?.has("context-edits") !== true) return noServerOptions;
  if (canServerCompact(input)) return noServerOptions;
  const excluded = tools.filter((name) => !isClearable(name));
  const inputs = tools.filter((name) => fileAction(name) === "write");
  const edits = [
    ...(rule.thinking === "asked" ? [thinkingEdit(thinkingKept)] : []),
    ...(input.resultsAreNamed ? [] : [toolUsesEdit(rule, { excluded, inputs })]),
  ];
  if (edits.length === 0) return noServerOptions;
  return { params: { context_management: { edits } }, betas: [contextManagementBeta] };
}

const thinkingEdit = (kept: ServerOptionsInput["thinkingKept"]): JsonObject => ({
  type: "clear_thinking_20251015",
  keep: kept === "all" ? "all" : { type: "thinking_turns", value: 1 },
});

interface ToolNames {
  readonly excluded: readonly string[];
  /** Tools whose inputs are cleared: the bulk is in what they are called with. */
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
