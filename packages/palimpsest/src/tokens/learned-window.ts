import { tokens, type Tokens } from "../schema/brand.ts";
import { learnableWindowTokensMax, learnableWindowTokensMin } from "./limits.ts";

const number = String.raw`(?<limit>\d[\d,_]*)`;

/** Providers that give the reply a part of the window of its own name the limit of the rest: no size of the window. */
const inputShapes = patterns([
  // OpenAI: input tokens exceed the configured limit of 272000 tokens
  String.raw`input tokens exceed the configured limit of ${number}`,
  // Anybody: the maximum is 272000 input tokens; at most 272,000 input tokens
  String.raw`(?:maximum(?: is| of)?|limit(?: is| of)|at most|up to) *${number} *input tokens\b`,
]);

/** How providers name the size of a window in the error for a request that does not fit. Group `limit` is the size. */
const windowShapes = patterns([
  // Anthropic, Bedrock: prompt is too long: 208310 tokens > 200000 maximum
  String.raw`prompt is too long:? *[\d,]+ *tokens? *> *${number}`,
  // Anthropic, older models: … exceed context limit: 178959 + 64000 > 200000
  String.raw`exceed context limit: *[\d,]+ *\+ *[\d,]+ *> *${number}`,
  // OpenAI's chat API, OpenRouter, vLLM: maximum context length is 8192 tokens
  String.raw`maximum (?:context|input|prompt|sequence) (?:length|size|window)(?: of this model)? is ${number}`,
  // Mistral: too large for model with 32768 maximum context length
  String.raw`${number} maximum context length`,
  // Gemini: exceeds the maximum number of tokens allowed (1048575)
  String.raw`exceeds the maximum number of tokens allowed \(?${number}`,
  // Gateways: tokens exceed the configured limit of 131072 tokens
  String.raw`tokens exceed the configured limit of ${number}`,
  // Copilot: prompt token count of 130000 exceeds the limit of 128000
  String.raw`token count[^.]* exceeds the limit of ${number}`,
  // llama.cpp: request (5000 tokens) exceeds the available context size (4096 tokens)
  String.raw`exceeds the available context size \(?${number}`,
  // LM Studio: … greater than the context length (n_keep: 5000 >= n_ctx: 4096)
  String.raw`greater than the context length\b.*n_ctx: *${number}`,
  // Kimi: exceeded model token limit: 262144
  String.raw`exceeded model token limit:? *${number}`,
  // TGI: inputs tokens + max_new_tokens must be <= 4096
  String.raw`tokens \+ \S*max_new_tokens\S* must be <= *${number}`,
  // Cerebras: current length is 9000 while limit is 8192
  String.raw`current length is [\d,]+ while limit is ${number}`,
  // Anybody: the context is too long, the maximum is 65536 tokens
  String.raw`(?:prompt|context|input)\b.*\bmaximum is ${number}(?= *tokens?\b|\D*$)`,
]);

/** Limits of something else: of a minute, of a reply, of a file. */
const otherLimits =
  /rate.?limit|too many requests|per (?:minute|hour|day)|^throttling|^service unavailable|string_above_max_length|\b(?:output|completion) tokens\b.*\bmaximum allowed|max_tokens: *\d+ *>|\d *(?:bytes|[km]b)\b/i;

export interface NamedLimit {
  /** `input`: of what is sent, where the reply has a part of the window of its own. */
  readonly of: "window" | "input";
  readonly tokens: Tokens;
}

/** The limit that an error message names; undefined where it names none. */
export function learnedFrom(errorMessage: string): NamedLimit | undefined {
  if (otherLimits.test(errorMessage)) return undefined;
  const input = sizeIn(errorMessage, inputShapes);
  if (input !== undefined) return { of: "input", tokens: input };
  const window = sizeIn(errorMessage, windowShapes);
  return window === undefined ? undefined : { of: "window", tokens: window };
}

function sizeIn(message: string, shapes: readonly RegExp[]): Tokens | undefined {
  for (const shape of shapes) {
    const limit = Number(shape.exec(message)?.groups?.["limit"]?.replaceAll(/[,_]/g, ""));
    if (limit >= learnableWindowTokensMin && limit <= learnableWindowTokensMax) return tokens(limit);
  }
  return undefined;
}

function patterns(sources: readonly string[]): readonly RegExp[] {
  return sources.map((source) => new RegExp(source, "is"));
}
