import { invalidValue, type OpenAiRefusal, refuseRequest, parameterNotSupported } from "./open-ai-refusal.ts";
import { type Part, type OpenAiRequest, type Item, isImageUrl, listCallableTools } from "./open-ai-request.ts";
import type { OpenAiModel } from "./open-ai-models.ts";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";

/** Rules about one request that do not depend on what the server has stored. */
export function checkRequest(request: OpenAiRequest, model: OpenAiModel): OpenAiRefusal | undefined {
  return (
    checkLimits(request, model) ??
    checkCacheFields(request, model) ??
    checkTools(request) ??
    checkParts(request, model) ??
    (request.api === "chat" ? checkChatPairs(request.body) : undefined)
  );
}

function checkLimits(request: OpenAiRequest, model: OpenAiModel): OpenAiRefusal | undefined {
  const { body, maxOutputTokens } = request;
  const isSent = (name: string): boolean => body[name] !== undefined && body[name] !== null;
  const thinks = model.reasoning === "thinks";
  if (request.api === "chat" && thinks && isSent("max_tokens"))
    return parameterNotSupported("max_tokens", "max_completion_tokens");
  if (request.api === "chat" && thinks && isSent("stop")) return parameterNotSupported("stop");
  if (!thinks && request.reasoning.effort !== undefined)
    return parameterNotSupported(request.api === "chat" ? "reasoning_effort" : "reasoning.effort");
  if (isSent("stream_options") && request.form !== "stream")
    return refuseRequest("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: "stream_options",
    });
  if (maxOutputTokens !== undefined && maxOutputTokens > model.outputTokensMax)
    return refuseRequest(
      `max_tokens is too large: ${maxOutputTokens}. This model supports at most ${model.outputTokensMax} completion tokens, whereas you provided ${maxOutputTokens}.`,
      { param: limitName(request), code: "invalid_value" },
    );
  return undefined;
}

const limitName = ({ api, body }: OpenAiRequest): string => {
  if (api === "responses") return "max_output_tokens";
  return body["max_completion_tokens"] === undefined ? "max_tokens" : "max_completion_tokens";
};

function checkCacheFields({ cache }: OpenAiRequest, model: OpenAiModel): OpenAiRefusal | undefined {
  if (cache.options !== undefined && model.caching === "automatic")
    return parameterNotSupported("prompt_cache_options");
  if (cache.retention !== undefined && !model.retentions.includes(cache.retention))
    return invalidValue(cache.retention, { param: "prompt_cache_retention", supported: model.retentions });
  return undefined;
}

function checkTools({ tools: sent, items, toolChoice, api }: OpenAiRequest): OpenAiRefusal | undefined {
  const tools = listCallableTools(sent, items);
  if (sent.length > 0 && items.some(({ kind }) => kind === "tools"))
    return refuseRequest(
      "Simulator: 'tools' beside an item 'additional_tools' is refused, because no document or client shows that the API takes both. Put all tools into one of them.",
      { param: "tools" },
    );
  const names = new Set<string>();
  const fullNames = new Set<string>();
  for (const [at, { name, namespace }] of tools.entries()) {
    const fullName = namespace === undefined ? name : `${namespace}.${name}`;
    if (fullNames.has(fullName))
      return refuseRequest(`Duplicate tool name: '${fullName}'. Tool names must be unique.`, {
        param: api === "chat" ? `tools[${at}].function.name` : `tools[${at}].name`,
      });
    fullNames.add(fullName);
    names.add(name);
  }
  if (sent.length + tools.length === 0 && toolChoice !== "auto" && toolChoice !== "none")
    return refuseRequest("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", {
      param: "tool_choice",
    });
  if (typeof toolChoice !== "string" && !names.has(toolChoice.name))
    return refuseRequest(`Tool choice 'function' not found in 'tools' parameter.`, { param: "tool_choice" });
  return undefined;
}

function checkParts({ items, places }: OpenAiRequest, model: OpenAiModel): OpenAiRefusal | undefined {
  for (const [at, item] of items.entries()) {
    if (item.kind !== "message" && item.kind !== "output") continue;
    for (const [index, part] of item.parts.entries()) {
      const wrong = checkPart(part, { param: `${places[at] ?? ""}[${index}]`, model });
      if (wrong !== undefined) return wrong;
    }
  }
  return undefined;
}

function checkPart(
  part: Part,
  { param, model }: { readonly param: string; readonly model: OpenAiModel },
): OpenAiRefusal | undefined {
  if (part.mark !== undefined && model.caching === "automatic")
    return parameterNotSupported(`${param}.prompt_cache_breakpoint`);
  if (part.kind === "image" && !isImageUrl(part.url))
    return refuseRequest(
      `Invalid '${param}.image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), or a web address.`,
      { param: `${param}.image_url`, code: "invalid_value" },
    );
  return undefined;
}

/** Checks that the prompt leaves room for a reply. */
export function checkFit(
  request: OpenAiRequest,
  { model, promptTokens }: { readonly model: OpenAiModel; readonly promptTokens: number },
): OpenAiRefusal | undefined {
  const details = { code: "context_length_exceeded", param: request.api === "chat" ? "messages" : "input" };
  const { inputTokensMax, windowTokens } = model;
  if (request.api === "responses")
    return promptTokens > inputTokensMax
      ? refuseRequest(
          "Your input exceeds the context window of this model. Please adjust your input and try again.",
          details,
        )
      : undefined;
  if (promptTokens > inputTokensMax)
    return inputTokensMax < windowTokens
      ? refuseRequest(
          `Input tokens exceed the configured limit of ${inputTokensMax} tokens. Your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
          details,
        )
      : refuseRequest(
          `This model's maximum context length is ${windowTokens} tokens. However, your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
          details,
        );
  const wanted = request.maxOutputTokens ?? 0;
  return promptTokens + wanted > windowTokens
    ? refuseRequest(
        `This model's maximum context length is ${windowTokens} tokens. However, you requested ${promptTokens + wanted} tokens (${promptTokens} in the messages, ${wanted} in the completion). Please reduce the length of the messages or completion.`,
        details,
      )
    : undefined;
}

/**
 * Chat: the messages right after a reply with calls must answer each of its calls. This is read from the body, because
 * refusals name the messages of the body.
 */
function checkChatPairs(body: JsonObject): OpenAiRefusal | undefined {
  let open: ReadonlySet<string> = new Set();
  let callers: ReadonlySet<string> = new Set();
  let caller = 0;
  for (const [at, message] of [...chatMessages(body), endMark].entries()) {
    if (textField(message, "role") === "tool") {
      const id = textField(message, "tool_call_id") ?? "";
      if (callers.size === 0) return orphanMessageRefusal(at);
      if (!callers.has(id)) return unknownCallRefusal(id, at);
      open = new Set([...open].filter((one) => one !== id));
      continue;
    }
    if (open.size > 0) return missingResultsRefusal(open, caller);
    open = callIds(message);
    callers = open;
    caller = at;
  }
  return undefined;
}

const endMark: JsonObject = { role: "end" };

const chatMessages = (body: JsonObject): readonly JsonObject[] => {
  const messages = field(body, "messages");
  return isArray(messages) ? messages.filter(isObject) : [];
};

function callIds(message: JsonObject): ReadonlySet<string> {
  const calls: Json | undefined = field(message, "tool_calls");
  const ids = isArray(calls) ? calls.flatMap((call) => (isObject(call) ? (textField(call, "id") ?? []) : [])) : [];
  return new Set(ids);
}

const orphanMessageRefusal = (at: number): OpenAiRefusal =>
  refuseRequest(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: `messages.[${at}].role` },
  );

const unknownCallRefusal = (id: string, at: number): OpenAiRefusal =>
  refuseRequest(`Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`, {
    param: `messages.[${at}].tool_call_id`,
  });

const missingResultsRefusal = (open: ReadonlySet<string>, at: number): OpenAiRefusal =>
  refuseRequest(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    { param: `messages.[${at}].role` },
  );

/**
 * Responses: every output has its call somewhere before it, and every call has exactly one output somewhere after it.
 */
export function checkResponsesPairs(items: readonly Item[]): OpenAiRefusal | undefined {
  const open = new Set<string>();
  for (const item of items) {
    if (item.kind === "call") open.add(item.callId);
    if (item.kind === "output" && !open.delete(item.callId))
      return refuseRequest(`No tool call found for function call output with call_id ${item.callId}.`, {
        param: "input",
      });
  }
  const [first] = open;
  return first === undefined
    ? undefined
    : refuseRequest(`No tool output found for function call ${first}.`, { param: "input" });
}

/**
 * Reasoning is sent together with the item that followed it. At the end it may stand alone: Codex keeps what arrived
 * whole of a broken stream.
 */
export function checkReasoningPlace(items: readonly Item[]): OpenAiRefusal | undefined {
  for (const [at, item] of items.entries()) {
    if (item.kind !== "reasoning") continue;
    const next = items[at + 1];
    // Reasoning items may follow each other; the last of them must be followed by what it led to.
    if (next === undefined || next.kind === "reasoning") continue;
    const follows = next.kind === "call" || (next.kind === "message" && next.role === "assistant");
    if (!follows)
      return refuseRequest(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`, {
        param: "input",
      });
  }
  return undefined;
}
