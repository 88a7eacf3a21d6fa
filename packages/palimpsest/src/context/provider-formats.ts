import type { ClockDep, IdsDep } from "../ports/clock-dep.ts";
import type { ModelEvent, ModelFailure, ModelRequest } from "../ports/model-port.ts";
import { anthropicRules, type FailureRule, classifyThrown, openaiRules } from "../model/failure.ts";
import { ReplyAssembly, wholeReplyEvents } from "../model/anthropic/reply-assembly.ts";
import { ChatAssembly, wholeChatEvents } from "../model/openai/chat-assembly.ts";
import { chatRequest } from "../model/openai/chat-request.ts";
import { ResponseAssembly, wholeResponseEvents } from "../model/openai/response-assembly.ts";
import { responsesRequest } from "../model/openai/responses-request.ts";
import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import type { ChatParams, MessagesParams, ResponsesParams } from "../schema/wire/messages-params.ts";

/** The forms in which requests are given and replies are taken: what the official SDKs send, return and stream. */
interface ProviderFormats {
  readonly anthropic: {
    readonly params: MessagesParams;
    readonly reply: {
      readonly id: string;
      readonly model: string;
      readonly content: readonly object[];
      readonly stop_reason: string | null;
      readonly usage: object;
    };
    readonly event: { readonly type: string };
  };
  readonly "openai-chat": {
    readonly params: ChatParams;
    readonly reply: { readonly id: string; readonly model: string; readonly choices: readonly object[] };
    readonly event: { readonly id: string; readonly choices: readonly object[] };
  };
  readonly "openai-responses": {
    readonly params: ResponsesParams;
    readonly reply: { readonly id: string; readonly model: string; readonly output: readonly object[] };
    readonly event: { readonly type: string };
  };
}

export type Provider = keyof ProviderFormats;

export const providers: readonly Provider[] = ["anthropic", "openai-chat", "openai-responses"];

export type Params<P extends Provider> = ProviderFormats[P]["params"];
export type Reply<P extends Provider> = ProviderFormats[P]["reply"];
export type StreamEvent<P extends Provider> = ProviderFormats[P]["event"];

/** Puts a reply together from what a stream says. */
interface StreamAssembly {
  take(event: JsonObject): readonly ModelEvent[];
  /** When the stream has ended by itself. */
  end(): readonly ModelEvent[];
}

interface ProviderFormat {
  params(request: ModelRequest): JsonObject;
  reply(reply: JsonObject, deps: IdsDep & ClockDep): readonly ModelEvent[];
  stream(deps: IdsDep & ClockDep): StreamAssembly;
  /** What its errors mean. */
  readonly rules: readonly FailureRule[];
}

const anthropicFormat: ProviderFormat = {
  params: (request) => withoutStream(request.pieces.values(request)),
  rules: anthropicRules,
  reply: (reply) => wholeReplyEvents(reply),
  stream: () => {
    const assembly = new ReplyAssembly();
    return { take: (event) => assembly.take(event), end: () => [] };
  },
};

function chatParams(request: ModelRequest): JsonObject {
  const values = request.pieces.values(request);
  const { stream_options: _, ...params } = chatRequest(values, { outputLimit: "max_completion_tokens" });
  return withoutStream(params);
}

const chatFormat: ProviderFormat = {
  params: chatParams,
  rules: openaiRules,
  reply: (reply, ids) => wholeChatEvents(reply, ids),
  stream: (ids) => new ChatAssembly(ids),
};

const responsesFormat: ProviderFormat = {
  params: (request) => responsesRequest(chatParams(request)),
  rules: openaiRules,
  reply: (reply, deps) => wholeResponseEvents(reply, deps),
  stream: (deps) => new ResponseAssembly(deps),
};

const formatByProvider: Readonly<Record<Provider, ProviderFormat>> = {
  anthropic: anthropicFormat,
  "openai-chat": chatFormat,
  "openai-responses": responsesFormat,
};

/** Whether it is streamed is the caller's choice. */
function withoutStream(values: JsonObject): JsonObject {
  const { stream: _, ...params } = values;
  return params;
}

/** A request in the provider's own form. */
export function toProviderParams<P extends Provider>(provider: P, request: ModelRequest): Params<P> {
  // The wire's rules are checked where blocks enter a view; the types here are those of the SDKs, which have no JSON.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return formatByProvider[provider].params(request) as unknown as Params<P>;
}

/** Undefined: this is no reply in the provider's form. Any other object would pass for an empty answer. */
export function replyEvents(
  provider: Provider,
  reply: object,
  deps: IdsDep & ClockDep,
): readonly ModelEvent[] | undefined {
  const json = toJsonObject(reply);
  const { at, has } = contentByProvider[provider];
  const said = json[at];
  const isReply = isArray(said) && said.every((one) => isObject(one) && Object.hasOwn(one, has));
  return isReply ? formatByProvider[provider].reply(json, deps) : undefined;
}

/** Where a reply has what was said, and what each part of it has. */
const contentByProvider: Readonly<Record<Provider, { readonly at: string; readonly has: string }>> = {
  anthropic: { at: "content", has: "type" },
  "openai-chat": { at: "choices", has: "message" },
  "openai-responses": { at: "output", has: "type" },
};

export const streamAssembly = (provider: Provider, deps: IdsDep & ClockDep): StreamAssembly =>
  formatByProvider[provider].stream(deps);

/** What an error means that a provider's client threw. */
export const classifyRefusal = (provider: Provider, { now }: ClockDep, error: unknown): ModelFailure =>
  classifyThrown({ rules: formatByProvider[provider].rules, now }, error);

/** What an SDK gives is JSON that was read; what else hangs on its objects is left out. */
export function toJsonObject(value: object): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const json = JSON.parse(JSON.stringify(value)) as Json;
  return isObject(json) ? json : {};
}
