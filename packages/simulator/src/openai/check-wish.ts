import { invalidValue, type OpenAiRefusal, refused, unsupportedParameter } from "./error.ts";
import type { Part, Wish } from "./item.ts";
import type { OpenAiModel } from "./models.ts";
import { checkChatPairs } from "./pairing.ts";
import { isImageUrl } from "./media.ts";

/** Rules about one request that need no look at what the server has stored. */
export function checkWish(wish: Wish, model: OpenAiModel): OpenAiRefusal | undefined {
  return (
    checkLimits(wish, model) ??
    checkCacheFields(wish, model) ??
    checkTools(wish) ??
    checkParts(wish, model) ??
    (wish.api === "chat" ? checkChatPairs(wish.body) : undefined)
  );
}

function checkLimits(wish: Wish, model: OpenAiModel): OpenAiRefusal | undefined {
  const { body, maxOutputTokens } = wish;
  const isSent = (name: string): boolean => body[name] !== undefined && body[name] !== null;
  const thinks = model.reasoning === "thinks";
  if (wish.api === "chat" && thinks && isSent("max_tokens"))
    return unsupportedParameter("max_tokens", "max_completion_tokens");
  if (wish.api === "chat" && thinks && isSent("stop")) return unsupportedParameter("stop");
  if (!thinks && wish.reasoning.effort !== undefined)
    return unsupportedParameter(wish.api === "chat" ? "reasoning_effort" : "reasoning.effort");
  if (isSent("stream_options") && wish.form !== "stream")
    return refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: "stream_options",
    });
  if (maxOutputTokens !== undefined && maxOutputTokens > model.outputTokensMax)
    return refused(
      `max_tokens is too large: ${maxOutputTokens}. This model supports at most ${model.outputTokensMax} completion tokens, whereas you provided ${maxOutputTokens}.`,
      { param: limitName(wish), code: "invalid_value" },
    );
  return undefined;
}

const limitName = ({ api, body }: Wish): string => {
  if (api === "responses") return "max_output_tokens";
  return body["max_completion_tokens"] === undefined ? "max_tokens" : "max_completion_tokens";
};

function checkCacheFields({ cache }: Wish, model: OpenAiModel): OpenAiRefusal | undefined {
  if (cache.options !== undefined && model.caching === "automatic") return unsupportedParameter("prompt_cache_options");
  if (cache.retention !== undefined && !model.retentions.includes(cache.retention))
    return invalidValue(cache.retention, { param: "prompt_cache_retention", supported: model.retentions });
  return undefined;
}

function checkTools({ tools, toolChoice, api }: Wish): OpenAiRefusal | undefined {
  const names = new Set<string>();
  for (const [at, { name }] of tools.entries()) {
    if (names.has(name))
      return refused(`Duplicate tool name: '${name}'. Tool names must be unique.`, {
        param: api === "chat" ? `tools[${at}].function.name` : `tools[${at}].name`,
      });
    names.add(name);
  }
  if (tools.length === 0 && toolChoice !== "auto" && toolChoice !== "none")
    return refused("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", {
      param: "tool_choice",
    });
  if (typeof toolChoice !== "string" && !names.has(toolChoice.name))
    return refused(`Tool choice 'function' not found in 'tools' parameter.`, { param: "tool_choice" });
  return undefined;
}

function checkParts({ items, places }: Wish, model: OpenAiModel): OpenAiRefusal | undefined {
  for (const [at, item] of items.entries()) {
    if (item.kind !== "message" && item.kind !== "output") continue;
    for (const [index, part] of item.parts.entries()) {
      const wrong = checkPart(part, { param: `${places[at] ?? ""}[${index}]`, model });
      if (wrong !== undefined) return wrong;
    }
  }
  return undefined;
}

interface PartPlace {
  readonly param: string;
  readonly model: OpenAiModel;
}

function checkPart(part: Part, { param, model }: PartPlace): OpenAiRefusal | undefined {
  if (part.mark !== undefined && model.caching === "automatic")
    return unsupportedParameter(`${param}.prompt_cache_breakpoint`);
  if (part.kind === "image" && !isImageUrl(part.url))
    return refused(
      `Invalid '${param}.image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), or a web address.`,
      { param: `${param}.image_url`, code: "invalid_value" },
    );
  return undefined;
}

/** Whether the prompt leaves room for a reply. */
export function checkFit(wish: Wish, { model, promptTokens }: Fit): OpenAiRefusal | undefined {
  const told = { code: "context_length_exceeded", param: wish.api === "chat" ? "messages" : "input" };
  const { inputTokensMax, windowTokens } = model;
  if (wish.api === "responses")
    return promptTokens > inputTokensMax
      ? refused("Your input exceeds the context window of this model. Please adjust your input and try again.", told)
      : undefined;
  if (promptTokens > inputTokensMax)
    return inputTokensMax < windowTokens
      ? refused(
          `Input tokens exceed the configured limit of ${inputTokensMax} tokens. Your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
          told,
        )
      : refused(
          `This model's maximum context length is ${windowTokens} tokens. However, your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
          told,
        );
  const wanted = wish.maxOutputTokens ?? 0;
  return promptTokens + wanted > windowTokens
    ? refused(
        `This model's maximum context length is ${windowTokens} tokens. However, you requested ${promptTokens + wanted} tokens (${promptTokens} in the messages, ${wanted} in the completion). Please reduce the length of the messages or completion.`,
        told,
      )
    : undefined;
}

export interface Fit {
  readonly model: OpenAiModel;
  readonly promptTokens: number;
}
