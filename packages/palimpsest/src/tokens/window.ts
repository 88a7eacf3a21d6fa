import { tokens, type Tokens } from "../schema/brand.ts";
import type { ModelOverride } from "../schema/model.ts";
import { usualWindowsTokens, windowTokensDefault, windowTokensMillion } from "./limits.ts";
import { findModel, hasMillionBeta } from "./registry.ts";
import { hasMillionSuffix } from "./wire-model.ts";

/**
 * Where a window's size came from, strongest first; a smaller size learned from an error caps them all.
 * `recorded`: the session's own usage shows that the window is larger than the fallback, or that a beta was on.
 */
export type WindowSource =
  | "flag"
  | "environment"
  | "setting"
  | "model-suffix"
  | "server"
  | "beta"
  | "registry"
  | "fallback"
  | "recorded"
  | "learned";

export interface WindowInputs {
  readonly model: string | undefined;
  readonly flagTokens?: Tokens | undefined;
  readonly environmentTokens?: Tokens | undefined;
  readonly settingTokens?: Tokens | undefined;
  /** What the provider's models endpoint says. */
  readonly serverTokens?: Tokens | undefined;
  readonly betas?: readonly string[] | undefined;
  /** From an error that named the maximum. */
  readonly learnedTokens?: Tokens | undefined;
  /** The largest context that the provider counted for this model in the session: it did fit. */
  readonly recordedTokens?: Tokens | undefined;
  readonly models?: readonly ModelOverride[] | undefined;
}

export interface ResolvedWindow {
  readonly tokens: Tokens;
  readonly source: WindowSource;
}

export function resolveWindow(inputs: WindowInputs): ResolvedWindow {
  const asked = askedWindow(inputs);
  const { learnedTokens } = inputs;
  return learnedTokens !== undefined && learnedTokens < asked.tokens
    ? { tokens: learnedTokens, source: "learned" }
    : asked;
}

const millionBeta = /^context-1m-/;

function askedWindow({ model = "", ...inputs }: WindowInputs & { model?: string | undefined }): ResolvedWindow {
  if (inputs.flagTokens !== undefined) return { tokens: inputs.flagTokens, source: "flag" };
  if (inputs.environmentTokens !== undefined) return { tokens: inputs.environmentTokens, source: "environment" };
  if (inputs.settingTokens !== undefined) return { tokens: inputs.settingTokens, source: "setting" };
  if (hasMillionSuffix(model)) return { tokens: windowTokensMillion, source: "model-suffix" };
  if (inputs.serverTokens !== undefined) return { tokens: inputs.serverTokens, source: "server" };
  if (inputs.betas?.some((beta) => millionBeta.test(beta)) === true)
    return { tokens: windowTokensMillion, source: "beta" };
  const known = findModel(model, inputs.models);
  const { recordedTokens = 0 } = inputs;
  if (known === undefined)
    return recordedTokens > windowTokensDefault
      ? { tokens: usualWindow(recordedTokens), source: "recorded" }
      : { tokens: windowTokensDefault, source: "fallback" };
  // What a provider counted in several steps may add up to more than a window that is known: it counts only where a beta explains it.
  return recordedTokens > known.windowTokens && hasMillionBeta(known)
    ? { tokens: windowTokensMillion, source: "recorded" }
    : { tokens: tokens(known.windowTokens), source: "registry" };
}

/** The smallest usual window that holds so much, or as much itself. */
const usualWindow = (held: number): Tokens => tokens(usualWindowsTokens.find((size) => size >= held) ?? held);
