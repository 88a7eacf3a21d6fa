import type {
  ContextEdit,
  CountRequest,
  MessagesRequest,
  ContextEditOf,
} from "palimpsest/internal/schema/wire/messages-request";
import type { AppliedEdit } from "palimpsest/internal/schema/wire/reply-message";
import type { ModelTraits } from "../prompt/model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import {
  type RequestRendition,
  type ClearPlan,
  type ShownRequest,
  withChanges,
  type ShownChange,
  type ShownBlock,
  listShownBlocks,
} from "../prompt/request-rendition.ts";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import { clearTriggerTokensDefault, keptToolUsesDefault } from "../limits.ts";
import { isUserSpeaking } from "../prompt/prompt-reader.ts";

interface ContextEditInput {
  readonly request: MessagesRequest | CountRequest;
  readonly traits: ModelTraits;
  /** How the request is shown without the edits. */
  readonly shown: ShownRequest;
  /** The request's prompt with this rendering. */
  readonly promptFor: (rendering: RequestRendition) => Prompt;
  readonly placeholders: Placeholders;
}

/** How the request is shown with the edits. */
interface ContextEdits extends ShownRequest {
  readonly applied: readonly AppliedEdit[];
}

/**
 * Which of the requested edits are made, and what the model is shown then; undefined if the request asks for none.
 * Edits are made in the listed order, and each sees the result of the one before. What was cleared is the difference of
 * two prompts; an edit that would not make the prompt smaller is not made.
 */
export function applyContextEdits(inputs: ContextEditInput): ContextEdits | undefined {
  const { context_management: management } = inputs.request;
  if (management === null || management === undefined) return undefined;
  const applied: AppliedEdit[] = [];
  let { shown } = inputs;
  for (const edit of management.edits ?? []) {
    const plan = planClear(edit, { ...inputs, shown });
    if (plan === undefined) continue;
    const rendering = withChanges(shown.rendering, plan.changes);
    const prompt = inputs.promptFor(rendering);
    const tokens = shown.prompt.tokens - prompt.tokens;
    if (tokens < Math.max(1, plan.tokensMin)) continue;
    applied.push(plan.report(tokens));
    shown = { prompt, rendering };
  }
  return { ...shown, applied };
}

function planClear(edit: ContextEdit, inputs: ContextEditInput): ClearPlan | undefined {
  switch (edit.type) {
    case "clear_thinking_20251015":
      return clearThinking({ ...inputs, edit });
    case "clear_tool_uses_20250919":
      return clearToolUses({ ...inputs, edit });
    // Made later, by the model.
    case "compact_20260112":
      return undefined;
  }
}

type ClearToolUses = ContextEditOf<"clear_tool_uses_20250919">;

interface ClearToolUsesInput {
  readonly edit: ClearToolUses;
  readonly request: MessagesRequest | CountRequest;
  readonly shown: ShownRequest;
  readonly placeholders: Placeholders;
}

/** Replaces a cleared result. The provider has not published its own text. */
export const clearedResultText = "[Tool result cleared by the server]";

/**
 * Clears all tool uses but the newest, once the trigger is exceeded. Uses of excluded tools count among the newest too.
 * Uses that are already cleared are not cleared again.
 */
function clearToolUses(inputs: ClearToolUsesInput): ClearPlan | undefined {
  const { edit, request, shown } = inputs;
  const trigger = edit.trigger ?? { type: "input_tokens", value: clearTriggerTokensDefault };
  if (trigger.type === "input_tokens" && shown.prompt.tokens <= trigger.value) return undefined;
  const uses = toolUses(request, shown);
  if (trigger.type === "tool_uses" && uses.length <= trigger.value) return undefined;
  const old = uses.slice(0, Math.max(0, uses.length - (edit.keep?.value ?? keptToolUsesDefault)));
  const cleared = old
    .filter(({ call }) => edit.exclude_tools?.includes(call.block.name) !== true)
    .map((use) => toolUseChanges(use, inputs))
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
function toolUses({ messages }: MessagesRequest | CountRequest, shown: ShownRequest): readonly ToolUse[] {
  const shownBlocks = listShownBlocks(shown);
  const useById = new Map<string, ToolUse>();
  for (const [at, message] of messages.entries())
    for (const { block, path } of shownBlocks(message, at)) {
      if (block.type === "tool_use") useById.set(block.id, { call: { block, message: at, path } });
      if (block.type !== "tool_result") continue;
      const use = useById.get(block.tool_use_id);
      if (use !== undefined) useById.set(block.tool_use_id, { ...use, result: { block, message: at, path } });
    }
  return [...useById.values()];
}

function toolUseChanges(
  { call, result }: ToolUse,
  { edit, placeholders }: Pick<ClearToolUsesInput, "edit" | "placeholders">,
): readonly ShownChange[] {
  const changes: ShownChange[] = [];
  if (clearsInput(edit, call.block.name) && Object.keys(call.block.input).length > 0)
    changes.push({ ...call, shown: placeholders.placeholderFor(call.block, (block) => ({ ...block, input: {} })) });
  if (result !== undefined && result.block.content !== clearedResultText)
    changes.push({
      ...result,
      shown: placeholders.placeholderFor(result.block, (block) => ({ ...block, content: clearedResultText })),
    });
  return changes;
}

const clearsInput = ({ clear_tool_inputs: inputs }: ClearToolUses, name: string): boolean =>
  typeof inputs === "object" ? inputs?.includes(name) === true : inputs === true;

type ClearThinking = ContextEditOf<"clear_thinking_20251015">;

/**
 * Clears the oldest thinking turns. A turn is everything that the assistant says between two messages in which the user
 * speaks, and it keeps or loses its thinking as a whole: no tool loop is left with half of it.
 */
function clearThinking({
  edit,
  request,
  traits,
  shown,
}: {
  readonly edit: ClearThinking;
  readonly request: MessagesRequest | CountRequest;
  readonly traits: ModelTraits;
  readonly shown: ShownRequest;
}): ClearPlan | undefined {
  const keep = turnsToKeep(edit, traits);
  if (keep === "all") return undefined;
  const turns = thinkingTurns(request, shown);
  const cleared = turns.slice(0, Math.max(0, turns.length - keep));
  if (cleared.length === 0) return undefined;
  return {
    changes: cleared.flat(),
    tokensMin: 0,
    report: (tokens) => ({
      type: edit.type,
      cleared_thinking_turns: cleared.length,
      cleared_input_tokens: tokens,
    }),
  };
}

/** If this edit is listed, it alone decides about thinking, also on models that strip old thinking by themselves. */
export const decidesOnThinking = ({ context_management: management }: MessagesRequest | CountRequest): boolean =>
  (management?.edits ?? []).some(({ type }) => type === "clear_thinking_20251015");

function turnsToKeep({ keep }: ClearThinking, { oldThinking }: ModelTraits): number | "all" {
  if (keep === "all" || keep?.type === "all") return "all";
  return keep?.value ?? (oldThinking === "kept" ? "all" : 1);
}

function thinkingTurns(
  { messages }: MessagesRequest | CountRequest,
  shown: ShownRequest,
): readonly (readonly ShownChange[])[] {
  const shownBlocks = listShownBlocks(shown);
  const turns: ShownChange[][] = [];
  let turn: ShownChange[] = [];
  for (const [at, message] of messages.entries()) {
    if (isUserSpeaking(message)) turn = [];
    for (const { block, path } of shownBlocks(message, at)) {
      if (block.type !== "thinking" && block.type !== "redacted_thinking") continue;
      if (turn.length === 0) turns.push(turn);
      turn.push({ message: at, path, shown: "hidden" });
    }
  }
  return turns;
}

/**
 * What replaces cleared blocks, as the same object each time: a request that is cleared like the one before it is then
 * recognised by the identity of its blocks, as an uncleared one is. A block has one placeholder.
 */
export class Placeholders {
  readonly #placeholderByBlock = new WeakMap<WireBlock, WireBlock>();

  placeholderFor<Block extends WireBlock>(block: Block, make: (block: Block) => WireBlock): WireBlock {
    const known = this.#placeholderByBlock.get(block);
    if (known !== undefined) return known;
    const placeholder = make(block);
    this.#placeholderByBlock.set(block, placeholder);
    return placeholder;
  }
}
