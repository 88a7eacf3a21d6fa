import { tokens, type Tokens } from "../schema/brand.ts";
import type { ModelOverride } from "../schema/model.ts";
import { windowTokensDefault, windowTokensMillion } from "./limits.ts";
import { findModel } from "./registry.ts";

/** Where a window's size came from, strongest first; a smaller size learned from an error caps them all. */
export type WindowSource =
  | "flag"
  | "environment"
  | "setting"
  | "model-suffix"
  | "server"
  | "beta"
  | "registry"
  | "fallback"
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

const millionSuffix = /\[1m\]$/i;
const millionBeta = /^context-1m-/;

function askedWindow({ model = "", ...inputs }: WindowInputs & { model?: string | undefined }): ResolvedWindow {
  if (inputs.flagTokens !== undefined) return { tokens: inputs.flagTokens, source: "flag" };
  if (inputs.environmentTokens !== undefined) return { tokens: inputs.environmentTokens, source: "environment" };
  if (inputs.settingTokens !== undefined) return { tokens: inputs.settingTokens, source: "setting" };
  if (millionSuffix.test(model)) return { tokens: windowTokensMillion, source: "model-suffix" };
  if (inputs.serverTokens !== undefined) return { tokens: inputs.serverTokens, source: "server" };
  if (inputs.betas?.some((beta) => millionBeta.test(beta)) === true)
    return { tokens: windowTokensMillion, source: "beta" };
  const known = findModel(model, inputs.models);
  if (known !== undefined) return { tokens: tokens(known.windowTokens), source: "registry" };
  return { tokens: windowTokensDefault, source: "fallback" };
}
