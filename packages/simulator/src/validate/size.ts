import type { Model } from "palimpsest/internal/schema/model";
import type { CountRequest, MessagesRequest } from "palimpsest/internal/schema/wire/request";
import type { ModelTraits } from "../model-traits.ts";
import { invalid, type Refusal } from "../refusal.ts";

export interface SizeInput {
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly traits: ModelTraits;
  readonly betas: ReadonlySet<string>;
  readonly promptTokens: number;
}

/** Prompt and answer against the model's window. A count of tokens has no answer: it is never refused for its length. */
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
