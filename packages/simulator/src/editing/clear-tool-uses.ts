import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { ContextEditOf } from "palimpsest/internal/schema/wire/context-management";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { clearTriggerTokensDefault, keptToolUsesDefault } from "../limits.ts";
import type { Placeholders } from "./placeholders.ts";
import { type Change, type Clearing, type Shown, type ShownBlock, shownBlocks } from "./shown-blocks.ts";

type ClearToolUses = ContextEditOf<"clear_tool_uses_20250919">;

export interface ClearToolUsesInputs {
  readonly edit: ClearToolUses;
  readonly request: MessagesRequest | CountRequest;
  readonly shown: Shown;
  readonly placeholders: Placeholders;
}

/** Stands in place of a cleared result. The provider has not published its own words. */
export const clearedResultText = "[Tool result cleared by the server]";

/**
 * All tool uses but the newest, once the trigger is exceeded. The newest are counted among all, those of excluded tools
 * too. What is cleared already is no use to clear.
 */
export function clearToolUses(inputs: ClearToolUsesInputs): Clearing | undefined {
  const { edit, request, shown } = inputs;
  const trigger = edit.trigger ?? { type: "input_tokens", value: clearTriggerTokensDefault };
  if (trigger.type === "input_tokens" && shown.prompt.tokens <= trigger.value) return undefined;
  const uses = toolUses(request, shown);
  if (trigger.type === "tool_uses" && uses.length <= trigger.value) return undefined;
  const old = uses.slice(0, Math.max(0, uses.length - (edit.keep?.value ?? keptToolUsesDefault)));
  const cleared = old
    .filter(({ call }) => edit.exclude_tools?.includes(call.block.name) !== true)
    .map((use) => changesOf(use, inputs))
    .filter((changes) => changes.length > 0);
  if (cleared.length === 0) return undefined;
  return {
    changes: cleared.flat(),
    tokensMin: edit.clear_at_least?.value ?? 0,
    report: (tokens) => ({ type: edit.type, cleared_tool_uses: cleared.length, cleared_input_tokens: tokens }),
  };
}

type BlockOf<Type extends WireBlock["type"]> = Extract<WireBlock, { type: Type }>;

interface ToolUse {
  readonly call: ShownBlock<BlockOf<"tool_use">>;
  readonly result?: ShownBlock<BlockOf<"tool_result">>;
}

/** In the order of the calls. */
function toolUses({ messages }: MessagesRequest | CountRequest, shown: Shown): readonly ToolUse[] {
  const blocksOf = shownBlocks(shown);
  const useById = new Map<string, ToolUse>();
  for (const [at, message] of messages.entries())
    for (const { block, path } of blocksOf(message, at)) {
      if (block.type === "tool_use") useById.set(block.id, { call: { block, message: at, path } });
      if (block.type !== "tool_result") continue;
      const use = useById.get(block.tool_use_id);
      if (use !== undefined) useById.set(block.tool_use_id, { ...use, result: { block, message: at, path } });
    }
  return [...useById.values()];
}

function changesOf(
  { call, result }: ToolUse,
  { edit, placeholders }: Pick<ClearToolUsesInputs, "edit" | "placeholders">,
): readonly Change[] {
  const changes: Change[] = [];
  if (clearsInput(edit, call.block.name) && Object.keys(call.block.input).length > 0)
    changes.push({ ...call, shown: placeholders.of(call.block, (block) => ({ ...block, input: {} })) });
  if (result !== undefined && result.block.content !== clearedResultText)
    changes.push({
      ...result,
      shown: placeholders.of(result.block, (block) => ({ ...block, content: clearedResultText })),
    });
  return changes;
}

const clearsInput = ({ clear_tool_inputs: inputs }: ClearToolUses, name: string): boolean =>
  typeof inputs === "object" ? inputs?.includes(name) === true : inputs === true;
