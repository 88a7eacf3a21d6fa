import type { ContextEditOf } from "palimpsest/internal/schema/wire/context-management";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { ModelTraits } from "../model-traits.ts";
import { personSpeaks } from "../prompt-of.ts";
import { type Change, type Clearing, type Shown, shownBlocks } from "./shown-blocks.ts";

type ClearThinking = ContextEditOf<"clear_thinking_20251015">;

export interface ClearThinkingInputs {
  readonly edit: ClearThinking;
  readonly request: MessagesRequest | CountRequest;
  readonly traits: ModelTraits;
  readonly shown: Shown;
}

/**
 * The oldest thinking turns. A turn is everything that the assistant says between two messages in which a person speaks,
 * and it keeps its thinking or loses it as a whole: no tool loop is left with half of it.
 */
export function clearThinking({ edit, request, traits, shown }: ClearThinkingInputs): Clearing | undefined {
  const keep = keptTurns(edit, traits);
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

/** Where this edit is listed it alone decides, also on models that take old thinking out by themselves. */
export const decidesOnThinking = ({ context_management: management }: MessagesRequest | CountRequest): boolean =>
  (management?.edits ?? []).some(({ type }) => type === "clear_thinking_20251015");

function keptTurns({ keep }: ClearThinking, { oldThinking }: ModelTraits): number | "all" {
  if (keep === "all" || keep?.type === "all") return "all";
  return keep?.value ?? (oldThinking === "kept" ? "all" : 1);
}

function thinkingTurns({ messages }: MessagesRequest | CountRequest, shown: Shown): readonly (readonly Change[])[] {
  const blocksOf = shownBlocks(shown);
  const turns: Change[][] = [];
  let turn: Change[] = [];
  for (const [at, message] of messages.entries()) {
    if (personSpeaks(message)) turn = [];
    for (const { block, path } of blocksOf(message, at)) {
      if (block.type !== "thinking" && block.type !== "redacted_thinking") continue;
      if (turn.length === 0) turns.push(turn);
      turn.push({ message: at, path, shown: "hidden" });
    }
  }
  return turns;
}
