import type { ContextEdit } from "palimpsest/internal/schema/wire/context-management";
import type { AppliedEdit } from "palimpsest/internal/schema/wire/reply";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { ModelTraits } from "../model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import type { Rendering } from "../rendering.ts";
import { clearThinking } from "./clear-thinking.ts";
import { clearToolUses } from "./clear-tool-uses.ts";
import type { Placeholders } from "./placeholders.ts";
import { type Clearing, type Shown, withChanges } from "./shown-blocks.ts";

export interface ContextEditInputs {
  readonly request: MessagesRequest | CountRequest;
  readonly traits: ModelTraits;
  /** How it is shown without the edits. */
  readonly shown: Shown;
  /** The request's prompt where it is rendered like this. */
  readonly promptOf: (rendering: Rendering) => Prompt;
  readonly placeholders: Placeholders;
}

/** How it is shown with the edits. */
export interface ContextEdits extends Shown {
  readonly applied: readonly AppliedEdit[];
}

/**
 * Which of the edits that a request asks for are made, and what the model is shown then; undefined where it asks for
 * none. They are made in the order in which they are listed, and each looks at what the one before it left. What was
 * cleared is the difference of two prompts; an edit that would not make the prompt smaller is not made.
 */
export function contextEdits(inputs: ContextEditInputs): ContextEdits | undefined {
  const { context_management: management } = inputs.request;
  if (management === null || management === undefined) return undefined;
  const applied: AppliedEdit[] = [];
  let { shown } = inputs;
  for (const edit of management.edits ?? []) {
    const clearing = clearingOf(edit, { ...inputs, shown });
    if (clearing === undefined) continue;
    const rendering = withChanges(shown.rendering, clearing.changes);
    const prompt = inputs.promptOf(rendering);
    const tokens = shown.prompt.tokens - prompt.tokens;
    if (tokens < Math.max(1, clearing.tokensMin)) continue;
    applied.push(clearing.report(tokens));
    shown = { prompt, rendering };
  }
  return { ...shown, applied };
}

function clearingOf(edit: ContextEdit, inputs: ContextEditInputs): Clearing | undefined {
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
