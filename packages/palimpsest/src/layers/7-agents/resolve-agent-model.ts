import { knownModels } from "../../tokens/known-models.ts";

/**
 * The model's name for requests. A family (`opus`) is its newest known model, if the parent's provider has it; otherwise the
 * parent's model, since the family's names at other providers are not known. Any other name stays as it is.
 */
export function resolveAgentModel(model: string | undefined, parent: string): string {
  if (model === undefined) return parent;
  const prefix = `claude-${model.toLowerCase()}-`;
  // The newest of a family comes first.
  const newest = knownModels.find(({ id }) => id.startsWith(prefix))?.id;
  if (newest === undefined || /\d/.test(model)) return model;
  return parent.startsWith("claude-") ? newest : parent;
}
