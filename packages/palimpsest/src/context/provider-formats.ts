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

/** The formats of requests and replies: what the official SDKs send, return and stream. */
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
    readonly message: { readonly role: string; readonly content: string | readonly object[] };
  };
  readonly "openai-chat": {
    readonly params: ChatParams;
    readonly reply: { readonly id: string; readonly model: string; readonly choices: readonly object[] };
    readonly event: { readonly id: string; readonly choices: readonly object[] };
    readonly message: { readonly role: string };
  };
  readonly "openai-responses": {
    readonly params: ResponsesParams;
    readonly reply: { readonly id: string; readonly model: string; readonly output: readonly object[] };
    readonly event: { readonly type: string };
    /** An item of the input. */
    readonly message: object;
  };
}

export type Provider = keyof ProviderFormats;

export const providers: readonly Provider[] = ["anthropic", "openai-chat", "openai-responses"];

export type Params<P extends Provider> = ProviderFormats[P]["params"];
export type Reply<P extends Provider> = ProviderFormats[P]["reply"];
/** A message of a list for `sync`. */
export type SyncInput<P extends Provider> = ProviderFormats[P]["message"];
export type StreamEvent<P extends Provider> = ProviderFormats[P]["event"];

/** Assembles a reply from stream events. */
interface StreamAssembly {
  take(event: JsonObject): readonly ModelEvent[];
  /** Called when the stream has ended normally. */
  end(): readonly ModelEvent[];
}

interface ProviderFormat {
  params(request: ModelRequest): JsonObject;
  reply(reply: JsonObject, deps: IdsDep & ClockDep): readonly ModelEvent[];
  stream(deps: IdsDep & ClockDep): StreamAssembly;
  /** How its errors are classified. */
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

/** The caller decides whether the request is streamed. */
function withoutStream(values: JsonObject): JsonObject {
  const { stream: _, ...params } = values;
  return params;
}

export function toProviderParams<P extends Provider>(provider: P, request: ModelRequest): Params<P> {
  // Blocks are checked when they enter a view. The SDKs' types do not accept JSON types.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return formatByProvider[provider].params(request) as unknown as Params<P>;
}

/** Undefined if this is not a reply in the provider's format: any other object would look like an empty reply. */
export function replyEvents(
  provider: Provider,
  reply: object,
  deps: IdsDep & ClockDep,
): readonly ModelEvent[] | undefined {
  const json = toJsonObject(reply);
  return isReply(provider, json) ? formatByProvider[provider].reply(json, deps) : undefined;
}

/** Checks the content. Servers that imitate a provider may leave out other fields, and none of them has to be there. */
function isReply(provider: Provider, reply: JsonObject): boolean {
  const { at, has } = contentByProvider[provider];
  const content = reply[at];
  return isArray(content) && content.every((part) => isObject(part) && Object.hasOwn(part, has));
}

/** The field of a reply that holds its content, and a field that each part of the content has. */
const contentByProvider: Readonly<Record<Provider, { readonly at: string; readonly has: string }>> = {
  anthropic: { at: "content", has: "type" },
  "openai-chat": { at: "choices", has: "message" },
  "openai-responses": { at: "output", has: "type" },
};

export const streamAssembly = (provider: Provider, deps: IdsDep & ClockDep): StreamAssembly =>
  formatByProvider[provider].stream(deps);

/** Classifies an error that a provider's client threw. */
export const classifyRefusal = (provider: Provider, { now }: ClockDep, error: unknown): ModelFailure =>
  classifyThrown({ rules: formatByProvider[provider].rules, now }, error);

/** SDK objects are parsed JSON; other properties that they may have are dropped. */
export function toJsonObject(value: object): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const json = JSON.parse(JSON.stringify(value)) as Json;
  return isObject(json) ? json : {};
}
