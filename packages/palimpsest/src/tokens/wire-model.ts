import { windowTokensMillion } from "./limits.ts";
import { findModel } from "./registry.ts";

export interface WireModel {
  /** As the provider knows it. */
  readonly id: string;
  /** What its window has to be asked for with. */
  readonly betas: readonly string[];
}

const millionSuffix = /\[1m\]$/i;

export const hasMillionSuffix = (name: string): boolean => millionSuffix.test(name);

/**
 * How a request names a model. `[1m]` is a user's way to ask for the large window, not a part of the name: providers
 * answer "not found" to it. Models that have the window anyway need no beta.
 */
export function wireModel(name: string): WireModel {
  if (!hasMillionSuffix(name)) return { id: name, betas: [] };
  const known = findModel(name);
  const isLargeAnyway = known !== undefined && known.windowTokens >= windowTokensMillion;
  return { id: name.replace(millionSuffix, ""), betas: isLargeAnyway ? [] : [millionBeta] };
}

export const millionBeta = "context-1m-2025-08-07";
