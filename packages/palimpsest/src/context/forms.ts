import type { ClockDep } from "../ports/clock.ts";
import type { IdsDep } from "../ports/ids.ts";
import type { ModelEvent, ModelFailure, ModelRequest } from "../ports/model.ts";
import { anthropicRules } from "../model/anthropic/failure-rules.ts";
import { ReplyAssembly } from "../model/anthropic/reply.ts";
import { wholeReplyEvents } from "../model/anthropic/whole-reply.ts";
import type { FailureRule } from "../model/failure.ts";
import { failureFrom } from "../model/failure-from.ts";
import { openaiRules } from "../model/openai/failure-rules.ts";
import { ChatAssembly } from "../model/openai/reply.ts";
import { chatRequest } from "../model/openai/request.ts";
import { ResponseAssembly, wholeResponseEvents } from "../model/openai/responses-reply.ts";
import { responsesRequest } from "../model/openai/responses-request.ts";
import { wholeChatEvents } from "../model/openai/whole-reply.ts";
import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import type { ChatParams } from "../schema/wire/chat-params.ts";
import type { MessagesParams } from "../schema/wire/messages-params.ts";
import type { ResponsesParams } from "../schema/wire/responses-params.ts";

/** The forms in which requests are given and replies are taken: what the official SDKs send, return and stream. */
export interface Forms {
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

export type Provider = keyof Forms;

export const providers: readonly Provider[] = ["anthropic", "openai-chat", "openai-responses"];

export type Params<P extends Provider> = Forms[P]["params"];
export type Reply<P extends Provider> = Forms[P]["reply"];
export type StreamEvent<P extends Provider> = Forms[P]["event"];

/** Puts a reply together from what a stream says. */
export interface StreamAssembly {
  take(event: JsonObject): readonly ModelEvent[];
  /** When the stream has ended by itself. */
  end(): readonly ModelEvent[];
}

interface Form {
  params(request: ModelRequest): JsonObject;
  reply(reply: JsonObject, deps: IdsDep & ClockDep): readonly ModelEvent[];
  stream(deps: IdsDep & ClockDep): StreamAssembly;
  /** What its errors mean. */
  readonly rules: readonly FailureRule[];
}

const anthropic: Form = {
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

const chat: Form = {
  params: chatParams,
  rules: openaiRules,
  reply: (reply, ids) => wholeChatEvents(reply, ids),
  stream: (ids) => new ChatAssembly(ids),
};

const responses: Form = {
  params: (request) => responsesRequest(chatParams(request)),
  rules: openaiRules,
  reply: (reply, deps) => wholeResponseEvents(reply, deps),
  stream: (deps) => new ResponseAssembly(deps),
};

const formByProvider: Readonly<Record<Provider, Form>> = {
  anthropic,
  "openai-chat": chat,
  "openai-responses": responses,
};

/** Whether it is streamed is the caller's choice. */
function withoutStream(values: JsonObject): JsonObject {
  const { stream: _, ...params } = values;
  return params;
}

/** A request in the provider's own form. */
export function paramsOf<P extends Provider>(provider: P, request: ModelRequest): Params<P> {
  // The wire's rules are checked where blocks enter a view; the types here are those of the SDKs, which have no JSON.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return formByProvider[provider].params(request) as unknown as Params<P>;
}

/** Undefined: this is no reply in the provider's form. Any other object would pass for an empty answer. */
export function replyEvents(
  provider: Provider,
  reply: object,
  deps: IdsDep & ClockDep,
): readonly ModelEvent[] | undefined {
  const json = jsonOf(reply);
  const { at, has } = saidByProvider[provider];
  const said = json[at];
  const isReply = isArray(said) && said.every((one) => isObject(one) && Object.hasOwn(one, has));
  return isReply ? formByProvider[provider].reply(json, deps) : undefined;
}

/** Where a reply has what was said, and what each part of it has. */
const saidByProvider: Readonly<Record<Provider, { readonly at: string; readonly has: string }>> = {
  anthropic: { at: "content", has: "type" },
  "openai-chat": { at: "choices", has: "message" },
  "openai-responses": { at: "output", has: "type" },
};

export const streamAssembly = (provider: Provider, deps: IdsDep & ClockDep): StreamAssembly =>
  formByProvider[provider].stream(deps);

/** What an error means that a provider's client threw. */
export const refusalFrom = (provider: Provider, { now }: ClockDep, error: unknown): ModelFailure =>
  failureFrom({ rules: formByProvider[provider].rules, now }, error);

/** What an SDK gives is JSON that was read; what else hangs on its objects is left out. */
export function jsonOf(value: object): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const json = JSON.parse(JSON.stringify(value)) as Json;
  return isObject(json) ? json : {};
}
