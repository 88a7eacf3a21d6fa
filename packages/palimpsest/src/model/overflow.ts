import { type Tokens, tokens } from "../schema/brand.ts";
import { requestTokens, type Usage } from "../schema/usage.ts";
import { parseNamedLimit, type NamedLimit } from "../tokens/resolve-window.ts";
import { silentOverflowShare } from "./limits.ts";

/** A row matches if all of its conditions hold. */
interface OverflowRow {
  readonly provider: string;
  readonly pattern?: RegExp;
  readonly code?: string;
  readonly statuses?: readonly number[];
}

/** The errors by which servers report that a request does not fit the window. */
export const overflowRows: readonly OverflowRow[] = [
  { provider: "Anthropic", pattern: /prompt is too long/i },
  { provider: "Anthropic", pattern: /exceed context limit/i },
  { provider: "Anthropic", code: "request_too_large" },
  { provider: "Bedrock", pattern: /input is too long for requested model/i },
  { provider: "Claude Code gateway", pattern: /capability_rejected: prompt_too_long/i },
  { provider: "OpenAI", code: "context_length_exceeded" },
  { provider: "OpenAI", pattern: /exceeds the context window/i },
  { provider: "OpenAI", pattern: /input tokens exceed the configured limit/i },
  { provider: "others", pattern: /(?:maximum(?: is| of)?|limit(?: is| of)) *[\d,]+ *input tokens\b(?! per)/i },
  { provider: "OpenRouter, vLLM", pattern: /maximum context length is [\d,]+ tokens/i },
  { provider: "vLLM", pattern: /is longer than the model's context length|too long to fit into the model/i },
  { provider: "vLLM", pattern: /max_tokens must be at least 1, got -\d+/i },
  { provider: "Gemini", pattern: /input token count.*exceeds the maximum/i },
  { provider: "Gemini", pattern: /exceeds the maximum number of tokens allowed/i },
  { provider: "xAI", pattern: /maximum prompt length is \d+/i },
  { provider: "Groq", pattern: /reduce the length of the messages/i },
  { provider: "Copilot", pattern: /token count.* exceeds the limit of \d+/i },
  { provider: "llama.cpp", pattern: /exceeds the available context size/i },
  { provider: "LM Studio", pattern: /greater than the context length/i },
  { provider: "MiniMax", pattern: /context window exceeds limit/i },
  { provider: "Kimi", pattern: /exceeded model token limit/i },
  { provider: "Mistral", pattern: /too large for model with \d+ maximum context length/i },
  { provider: "Ollama", pattern: /prompt too long; exceeded (?:max )?context length/i },
  { provider: "TGI", pattern: /`inputs` tokens \+ `max_new_tokens` must be/i },
  { provider: "Cerebras", pattern: /current length is .* while limit is/i },
  // It refuses a request that is too long with an empty body.
  { provider: "Cerebras", pattern: /^$/, statuses: [400, 413] },
  {
    provider: "others",
    pattern: /context[_ ]length[_ ]exceeded|too many tokens|token limit exceeded|maximum input length is .* tokens/i,
  },
  { provider: "others", statuses: [413] },
];

/** Similar messages with another meaning: rate limits, and limits of other fields. */
const exclusions: readonly RegExp[] = [
  /^(?:throttling error|service unavailable):/i,
  /rate limit/i,
  /too many requests/i,
  /wait before trying again/i,
  /string_above_max_length/i,
  /invalid 'user'.*string too long/is,
];

export interface OverflowInput {
  readonly message: string;
  readonly code?: string | undefined;
  readonly status?: number | undefined;
}

interface Overflow {
  /** The window or the input limit, if the message contains it. */
  readonly limitTokens?: Tokens;
  readonly limitOf?: NamedLimit["of"];
  /** The size of the request, including the room for the reply if the server counted it. */
  readonly usedTokens?: Tokens;
}

/** Undefined if the error is about something else. */
export function detectOverflow(error: OverflowInput): Overflow | undefined {
  const { message, status } = error;
  if (status === 429 || exclusions.some((pattern) => pattern.test(message))) return undefined;
  if (!overflowRows.some((row) => matchesRow(row, error))) return undefined;
  const limit = parseNamedLimit(message);
  const usedTokens = parseUsedTokens(message);
  return {
    ...(limit === undefined ? {} : { limitTokens: limit.tokens, limitOf: limit.of }),
    ...(usedTokens === undefined ? {} : { usedTokens }),
  };
}

const matchesRow = (row: OverflowRow, { message, code, status }: OverflowInput): boolean =>
  (row.pattern?.test(message) ?? true) &&
  (row.code === undefined || row.code === code) &&
  (row.statuses === undefined || (status !== undefined && row.statuses.includes(status)));

const number = String.raw`([\d,_]*\d)`;

/** The sum of the groups is the number of tokens used. */
const usedShapes: readonly RegExp[] = [
  // Anthropic, Bedrock: 208310 tokens > 200000 maximum
  String.raw`${number} *tokens? *>`,
  // Anthropic, older models: 178959 + 64000 > 200000
  String.raw`${number} *\+ *${number} *>`,
  // OpenAI's chat API, OpenRouter, vLLM: you requested about 150000 tokens; your request has 40000 input tokens
  String.raw`(?:requested|request has|request contains)(?: about)? ${number} (?:input )?tokens`,
  // OpenAI: Your messages resulted in 300000 tokens
  String.raw`resulted in ${number} tokens`,
  // Gemini, Copilot: input token count (1196265); prompt token count of 130000
  String.raw`token count(?: of)? \(?${number}`,
  // Mistral: Prompt contains 40000 tokens
  String.raw`prompt contains ${number} tokens`,
  // llama.cpp: request (5000 tokens)
  String.raw`request \(${number} tokens\)`,
  // LM Studio: n_keep: 5000
  String.raw`n_keep: *${number}`,
  // TGI: Given: 5000 `inputs` tokens and 100 `max_new_tokens`
  String.raw`given: ${number} .inputs. tokens(?: and ${number})?`,
  // Cerebras: Current length is 9000
  String.raw`current length is ${number}`,
].map((source) => new RegExp(source, "i"));

function parseUsedTokens(message: string): Tokens | undefined {
  for (const shape of usedShapes) {
    const match = shape.exec(message);
    if (match === null) continue;
    const counts = match.slice(1).map((count: string | undefined) => Number((count ?? "0").replaceAll(/[,_]/g, "")));
    return tokens(counts.reduce((sum, count) => sum + count, 0));
  }
  return undefined;
}

/**
 * Some servers accept a request that does not fit without an error: z.ai reports more tokens than the window holds, MiMo
 * fills the window completely and has no room for a reply.
 */
export function isSilentOverflow({
  stopReason,
  usage,
  windowTokens,
}: {
  readonly stopReason: string;
  readonly usage: Usage;
  readonly windowTokens: Tokens;
}): boolean {
  const used = requestTokens(usage);
  if (used > windowTokens) return true;
  return stopReason === "max_tokens" && usage.output === 0 && used >= silentOverflowShare * windowTokens;
}
