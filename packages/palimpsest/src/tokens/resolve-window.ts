import { tokens, type Tokens } from "../schema/brand.ts";
import type { ModelOverride } from "../schema/model.ts";
import {
  usualWindowsTokens,
  windowTokensDefault,
  windowTokensMillion,
  learnableWindowTokensMax,
  learnableWindowTokensMin,
} from "./limits.ts";
import { findModel, hasMillionBeta, hasMillionSuffix } from "./known-models.ts";

/**
 * Source of a window's size, strongest first; a smaller size learned from an error caps them all.
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
  /** From the provider's models endpoint. */
  readonly serverTokens?: Tokens | undefined;
  readonly betas?: readonly string[] | undefined;
  /** From an error that named the maximum. */
  readonly learnedTokens?: Tokens | undefined;
  /** The largest context that the provider counted for this model in the session, which therefore fits. */
  readonly recordedTokens?: Tokens | undefined;
  readonly models?: readonly ModelOverride[] | undefined;
}

export interface ResolvedWindow {
  readonly tokens: Tokens;
  readonly source: WindowSource;
}

export function resolveWindow(inputs: WindowInputs): ResolvedWindow {
  const uncapped = resolveUncappedWindow(inputs);
  const { learnedTokens } = inputs;
  return learnedTokens !== undefined && learnedTokens < uncapped.tokens
    ? { tokens: learnedTokens, source: "learned" }
    : uncapped;
}

const millionBetaPattern = /^context-1m-/;

function resolveUncappedWindow({
  model = "",
  ...inputs
}: WindowInputs & { model?: string | undefined }): ResolvedWindow {
  if (inputs.flagTokens !== undefined) return { tokens: inputs.flagTokens, source: "flag" };
  if (inputs.environmentTokens !== undefined) return { tokens: inputs.environmentTokens, source: "environment" };
  if (inputs.settingTokens !== undefined) return { tokens: inputs.settingTokens, source: "setting" };
  if (hasMillionSuffix(model)) return { tokens: windowTokensMillion, source: "model-suffix" };
  if (inputs.serverTokens !== undefined) return { tokens: inputs.serverTokens, source: "server" };
  if (inputs.betas?.some((beta) => millionBetaPattern.test(beta)) === true)
    return { tokens: windowTokensMillion, source: "beta" };
  const known = findModel(model, inputs.models);
  const { recordedTokens = 0 } = inputs;
  if (known === undefined)
    return recordedTokens > windowTokensDefault
      ? { tokens: usualWindow(recordedTokens), source: "recorded" }
      : { tokens: windowTokensDefault, source: "fallback" };
  // A count that a provider made in several steps may exceed the known window, so it is used only if a beta explains it.
  return recordedTokens > known.windowTokens && hasMillionBeta(known)
    ? { tokens: windowTokensMillion, source: "recorded" }
    : { tokens: tokens(known.windowTokens), source: "registry" };
}

/** The smallest usual window that holds this many tokens, or this number itself. */
const usualWindow = (recorded: number): Tokens =>
  tokens(usualWindowsTokens.find((size) => size >= recorded) ?? recorded);

const numberPattern = String.raw`(?<limit>\d[\d,_]*)`;

/** Providers that reserve a part of the window for the reply name the limit of the rest, which is not the window's size. */
const inputPatterns = compilePatterns([
  // OpenAI: input tokens exceed the configured limit of 272000 tokens
  String.raw`input tokens exceed the configured limit of ${numberPattern}`,
  // Generic: the maximum is 272000 input tokens; at most 272,000 input tokens
  String.raw`(?:maximum(?: is| of)?|limit(?: is| of)|at most|up to) *${numberPattern} *input tokens\b`,
]);

/** How providers name a window's size in the error for a request that does not fit. Group `limit` is the size. */
const windowPatterns = compilePatterns([
  // Anthropic, Bedrock: prompt is too long: 208310 tokens > 200000 maximum
  String.raw`prompt is too long:? *[\d,]+ *tokens? *> *${numberPattern}`,
  // Anthropic, older models: … exceed context limit: 178959 + 64000 > 200000
  String.raw`exceed context limit: *[\d,]+ *\+ *[\d,]+ *> *${numberPattern}`,
  // OpenAI's chat API, OpenRouter, vLLM: maximum context length is 8192 tokens
  String.raw`maximum (?:context|input|prompt|sequence) (?:length|size|window)(?: of this model)? is ${numberPattern}`,
  // Mistral: too large for model with 32768 maximum context length
  String.raw`${numberPattern} maximum context length`,
  // Gemini: exceeds the maximum number of tokens allowed (1048575)
  String.raw`exceeds the maximum number of tokens allowed \(?${numberPattern}`,
  // Gateways: tokens exceed the configured limit of 131072 tokens
  String.raw`tokens exceed the configured limit of ${numberPattern}`,
  // Copilot: prompt token count of 130000 exceeds the limit of 128000
  String.raw`token count[^.]* exceeds the limit of ${numberPattern}`,
  // llama.cpp: request (5000 tokens) exceeds the available context size (4096 tokens)
  String.raw`exceeds the available context size \(?${numberPattern}`,
  // LM Studio: … greater than the context length (n_keep: 5000 >= n_ctx: 4096)
  String.raw`greater than the context length\b.*n_ctx: *${numberPattern}`,
  // Kimi: exceeded model token limit: 262144
  String.raw`exceeded model token limit:? *${numberPattern}`,
  // TGI: inputs tokens + max_new_tokens must be <= 4096
  String.raw`tokens \+ \S*max_new_tokens\S* must be <= *${numberPattern}`,
  // Cerebras: current length is 9000 while limit is 8192
  String.raw`current length is [\d,]+ while limit is ${numberPattern}`,
  // Generic: the context is too long, the maximum is 65536 tokens
  String.raw`(?:prompt|context|input)\b.*\bmaximum is ${numberPattern}(?= *tokens?\b|\D*$)`,
]);

/** Errors about other limits: rates per minute, the length of a reply, the size of a file. */
const otherLimitsPattern =
  /rate.?limit|too many requests|per (?:minute|hour|day)|^throttling|^service unavailable|string_above_max_length|\b(?:output|completion) tokens\b.*\bmaximum allowed|max_tokens: *\d+ *>|\d *(?:bytes|[km]b)\b/i;

export interface NamedLimit {
  /** `input`: the limit of the request alone, if a part of the window is reserved for the reply. */
  readonly of: "window" | "input";
  readonly tokens: Tokens;
}

/** The limit that an error message names; undefined if it names none. */
export function parseNamedLimit(errorMessage: string): NamedLimit | undefined {
  if (otherLimitsPattern.test(errorMessage)) return undefined;
  const input = findSize(errorMessage, inputPatterns);
  if (input !== undefined) return { of: "input", tokens: input };
  const window = findSize(errorMessage, windowPatterns);
  return window === undefined ? undefined : { of: "window", tokens: window };
}

function findSize(message: string, patterns: readonly RegExp[]): Tokens | undefined {
  for (const pattern of patterns) {
    const limit = Number(pattern.exec(message)?.groups?.["limit"]?.replaceAll(/[,_]/g, ""));
    if (limit >= learnableWindowTokensMin && limit <= learnableWindowTokensMax) return tokens(limit);
  }
  return undefined;
}

function compilePatterns(sources: readonly string[]): readonly RegExp[] {
  return sources.map((source) => new RegExp(source, "is"));
}
