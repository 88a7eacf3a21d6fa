import type { Model, ModelOverride } from "palimpsest/internal/schema/model";
import { findModel, knownModels } from "palimpsest/internal/tokens/registry";
import type { Choice } from "../../tui/chat-ui.ts";
import { humanCount } from "../../human.ts";

/** Models that settings describe, then those that are known without. */
export function modelChoices(overrides: readonly ModelOverride[]): readonly Choice[] {
  const ids = new Set([...overrides, ...knownModels].map(({ id }) => id));
  return [...ids].map((id) => ({ value: id, label: id, description: aboutText(findModel(id, overrides)) }));
}

function aboutText(model: Model | undefined): string {
  if (model === undefined) return "";
  const { windowTokens, prices } = model;
  return `${humanCount(windowTokens)} tokens; $${prices.input} in, $${prices.output} out for a million`;
}
