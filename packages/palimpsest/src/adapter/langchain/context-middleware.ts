import { type AIMessage, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { type AgentMiddleware, createMiddleware } from "langchain";
import type { Context } from "../../context/context.ts";
import type { ToolOption } from "../../context/inputs.ts";
import type { AskModel } from "../../context/summarizer.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../schema/json.ts";
import { askPlainer } from "../shared/ask-plainer.ts";
import { ThreadContexts, type ThreadOptions } from "../shared/thread-contexts.ts";
import { encodeMessage, encodeReply } from "./encode-message.ts";
import { writeMessages } from "./write-messages.ts";

export type ContextMiddlewareOptions = ThreadOptions<"anthropic">;

export interface ContextHandle {
  /** The context of a thread (`configurable.thread_id`), or of the runs without one. Undefined before its first request. */
  readonly contextFor: (threadId?: string) => Promise<Context<"anthropic">> | undefined;
  /** Closes the session of a thread, or of the runs without one. Its next request opens it again. */
  readonly closeContext: (threadId?: string) => Promise<void>;
  /** Closes the sessions of all threads. */
  readonly closeContexts: () => Promise<void>;
}

/**
 * For `createAgent`: before each call of the model, its messages pass through the context of their thread and fit the
 * window. The agent's state keeps the whole list, so checkpointers, time travel and other middleware see it as it was.
 */
export function contextMiddleware(options: ContextMiddlewareOptions = {}): AgentMiddleware & ContextHandle {
  const threads = new ThreadContexts("anthropic", options);
  const middleware = createMiddleware({
    name: "PalimpsestContext",
    wrapModelCall: async (request, handler) => {
      const adapter = await threads.open(request.runtime.configurable?.thread_id);
      const model = modelName(request.model);
      const given = request.messages.map(encodeMessage);
      return await askPlainer(adapter, {
        request: {
          model,
          system: request.systemMessage.text,
          tools: request.tools.map(toToolOption),
          messages: given.map(({ role, content }) => ({ role, content })),
          signal: request.runtime.signal,
          askModel: askWith(request),
        },
        send: async (prepared) => {
          const reply = await handler({ ...request, messages: writeMessages(prepared, given) });
          // If it can't be recorded, the next list brings it.
          if (isReply(reply)) await (await adapter.context).assistant(toReply(reply, model)).catch(() => undefined);
          return reply;
        },
      });
    },
  });
  return Object.assign(middleware, {
    contextFor: (threadId?: string) => threads.contextFor(threadId),
    closeContext: (threadId?: string) => threads.closeThread(threadId),
    closeContexts: () => threads.close(),
  });
}

const askWith =
  (request: BindInput): AskModel<"anthropic"> =>
  async ({ params, signal }) => {
    const system = (params.system ?? []).map(({ text }) => new SystemMessage(text));
    const messages = writeMessages({ params, outgoing: undefined }, []);
    const reply = await bindModel(request).invoke([...system, ...messages], { signal });
    if (!isReply(reply)) throw new Error("the model gave no message");
    return toReply(reply, params.model);
  };

const isReply = (value: object): value is AIMessage => "content" in value && "type" in value && value.type === "ai";

function toReply(message: AIMessage, model: string) {
  const calls = message.tool_calls ?? [];
  const stop: unknown = message.response_metadata["stop_reason"] ?? message.response_metadata["finish_reason"];
  const ended = calls.length > 0 ? "tool_use" : "end_turn";
  return {
    id: message.id ?? crypto.randomUUID(),
    model,
    content: encodeReply(message),
    stop_reason: stop === "max_tokens" || stop === "length" ? "max_tokens" : ended,
    usage: readUsage(parseJson(JSON.stringify(message.usage_metadata ?? {}))),
  };
}

/** LangChain's count of the input includes what the cache read and wrote. */
function readUsage(usage: Json): JsonObject {
  const { input_tokens: input, output_tokens: output, input_token_details: details } = isObject(usage) ? usage : {};
  const { cache_read: read, cache_creation: write } = isObject(details) ? details : {};
  const [all, cacheRead, cacheWrite] = [Number(input ?? 0), Number(read ?? 0), Number(write ?? 0)];
  return {
    input_tokens: Math.max(0, all - cacheRead - cacheWrite),
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: Number(output ?? 0),
  };
}

interface Invocable {
  invoke(messages: BaseMessage[], options: { signal: AbortSignal }): Promise<object>;
}

interface BindInput {
  readonly model: object;
  readonly tools: readonly unknown[];
}

/** The model with its tools: a list that has calls is refused without them. */
function bindModel({ model, tools }: BindInput): Invocable {
  const bind: unknown = Reflect.get(model, "bindTools");
  const bound: unknown = typeof bind === "function" ? Reflect.apply(bind, model, [tools]) : model;
  if (!isInvocable(bound)) throw new Error("the agent's model can't be asked");
  return bound;
}

const isInvocable = (model: unknown): model is Invocable =>
  typeof model === "object" && model !== null && typeof Reflect.get(model, "invoke") === "function";

/** Models keep their name in one of these fields. */
function modelName(model: object): string {
  for (const key of ["model", "modelName"]) {
    const name: unknown = Reflect.get(model, key);
    if (typeof name === "string") return name;
  }
  return "unknown";
}

/** Only counted: the framework sends the tools itself. */
function toToolOption(tool: object): ToolOption {
  const name: unknown = Reflect.get(tool, "name");
  const description: unknown = Reflect.get(tool, "description");
  return {
    name: typeof name === "string" ? name : "tool",
    description: typeof description === "string" ? description : undefined,
    input_schema: readSchema(Reflect.get(tool, "schema")),
  };
}

function readSchema(schema: unknown): object {
  if (typeof schema !== "object" || schema === null) return { type: "object" };
  const json = parseJson(JSON.stringify(toJsonSchema(schema)));
  return isObject(json) ? json : { type: "object" };
}
