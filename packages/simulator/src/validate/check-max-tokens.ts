import type { Model } from "palimpsest/internal/schema/model";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { ModelTraits } from "../prompt/model-traits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import { forcesTool, isThinking, requestWithAnswer, type Rule } from "./check-input.ts";

/** Limits of the answer's length, and its stop sequences. */
export const checkMaxTokens: Rule = (input) => {
  const request = requestWithAnswer(input);
  if (request === undefined) return undefined;
  const { max_tokens, model, stop_sequences } = request;
  const most = input.model.outputTokensMax;
  if (max_tokens > most)
    return invalid(
      `${max_tokens} > ${most}, which is the maximum allowed number of output tokens for ${model}`,
      "max_tokens",
    );
  const blank = (stop_sequences ?? []).findIndex((sequence) => sequence.trim() === "");
  return blank === -1
    ? undefined
    : invalid("each stop sequence must contain non-whitespace", `stop_sequences.${blank}`);
};

/** `max_tokens: 0` only writes the cache: nothing may be asked of an answer that will not exist. */
export const checkPrewarm: Rule = (input) => {
  const request = requestWithAnswer(input);
  if (request?.max_tokens !== 0) return undefined;
  const { stream, output_config, output_format } = request;
  if (stream === true) return invalid("streaming is not supported when `max_tokens` is 0", "stream");
  if (isThinking(request)) return invalid("thinking may not be enabled when `max_tokens` is 0", "thinking");
  const format = output_config?.format ?? output_format ?? undefined;
  if (format !== undefined)
    return invalid("an output format is not supported when `max_tokens` is 0", "output_config.format");
  return forcesTool(request)
    ? invalid("forced tool use is not supported when `max_tokens` is 0", "tool_choice")
    : undefined;
};

interface SizeInput {
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly traits: ModelTraits;
  readonly betas: ReadonlySet<string>;
  readonly promptTokens: number;
}

/**
 * Checks prompt and answer against the model's window. A token count has no answer: it is never refused for its length.
 */
export function checkSize({ request, model, traits, betas, promptTokens }: SizeInput): Refusal | undefined {
  if (!("max_tokens" in request)) return undefined;
  const windowTokens = model.windowTokens;
  if (promptTokens > windowTokens)
    return invalid(`prompt is too long: ${promptTokens} tokens > ${windowTokens} maximum`);
  const stops = traits.overflow === "stops" || betas.has("model-context-window-exceeded-2025-08-26");
  if (stops || promptTokens + request.max_tokens <= windowTokens) return undefined;
  return invalid(
    `input length and \`max_tokens\` exceed context limit: ${promptTokens} + ${request.max_tokens} > ${windowTokens}, decrease input length or \`max_tokens\` and try again`,
  );
}
