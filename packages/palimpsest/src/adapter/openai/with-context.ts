import type OpenAI from "openai";
import type { Context } from "../../context/context.ts";
import type { ToolOption } from "../../context/inputs.ts";
import type { AskModel } from "../../context/summarizer.ts";
import type { OutgoingMessage } from "../../context/sync/outgoing-list.ts";
import { writeOutgoing } from "../../context/sync/write-outgoing.ts";
import { field, isArray, isObject, type Json, type JsonObject, listField, textField } from "../../schema/json.ts";
import {
  AdapterContext,
  type AdapterOptions,
  type FrameworkRequest,
  type PreparedRequest,
} from "../shared/adapter-context.ts";
import { clientFetch } from "../shared/client-fetch.ts";
import { contextFetch, type RequestFormat } from "../shared/context-fetch.ts";
import { continuedResponsesMax } from "../shared/limits.ts";

type OpenAIProvider = "openai-chat" | "openai-responses";

export interface OpenAIOptions<P extends OpenAIProvider> extends Omit<AdapterOptions<P>, "summarizer"> {
  /** Which of the client's APIs the conversation uses: `chat.completions` or `responses`. */
  readonly provider: P;
  /** `own`: the conversation's model, by the same client. By default summaries are made from the messages, by no model. */
  readonly summarizer?: AdapterOptions<P>["summarizer"] | "own";
}

export interface ContextHandle<P extends OpenAIProvider> {
  /** The conversation's context, once the first request is prepared. */
  readonly context: Promise<Context<P>>;
  /** Closes its session. */
  readonly closeContext: () => Promise<void>;
}

/**
 * The same client, for one conversation of any length: its requests, streamed or not, pass through a context, and what is
 * sent always fits the window. What only the server has (`conversation`, and responses of another client) is passed on as it
 * is.
 */
export function withContext<Client extends OpenAI, P extends OpenAIProvider>(
  client: Client,
  { provider, summarizer, ...options }: OpenAIOptions<P>,
): Client & ContextHandle<P> {
  const given = summarizer === "own" ? ownSummarizer(client, provider) : summarizer;
  const adapter = new AdapterContext<P>(provider, {
    ...options,
    ...(given === undefined ? {} : { summarizer: given }),
  });
  const fetch = contextFetch(clientFetch(client), { format: formatFor(provider), adapter });
  return Object.assign(client.withOptions({ fetch }), {
    context: adapter.context,
    closeContext: () => adapter.close(),
  });
}

/** The functions of both APIs by their names; the compiler does not relate a name to the type of its function. */
function ownSummarizer<P extends OpenAIProvider>(client: OpenAI, provider: P): AskModel<P> {
  const askers: { readonly [Name in OpenAIProvider]: AskModel<Name> } = {
    "openai-chat": ({ params, signal }) => client.chat.completions.create(params, { signal }),
    "openai-responses": ({ params, signal }) => client.responses.create(params, { signal }),
  };
  return askers[provider];
}

function formatFor<P extends OpenAIProvider>(provider: P): RequestFormat<P> {
  const formats: { readonly [Name in OpenAIProvider]: RequestFormat<Name> } = {
    "openai-chat": {
      read: readChat,
      write: writeChat,
      refuse: () => undefined,
      onReply: () => undefined,
      writeError,
    },
    "openai-responses": new ResponsesFormat(),
  };
  return formats[provider];
}

const writeError = (message: string): object => ({
  error: { message, type: "invalid_request_error", param: null, code: null },
});

/** The list as the client wrote it, as far as the context sends it unchanged. `view`: what the context would send. */
function writeList(
  provider: OpenAIProvider,
  {
    outgoing,
    given,
    view,
  }: {
    readonly outgoing: readonly OutgoingMessage[] | undefined;
    readonly given: readonly JsonObject[];
    readonly view: readonly object[];
  },
): readonly object[] {
  if (outgoing === undefined) return view;
  return writeOutgoing(provider, { outgoing, valueAt: (at) => given[at] }).map(({ value }) => value);
}

function readChat(path: string, body: JsonObject): FrameworkRequest<"openai-chat"> | undefined {
  const model = textField(body, "model");
  if (!path.endsWith("/chat/completions") || model === undefined) return undefined;
  const { system, others } = splitSystem(listField(body, "messages").filter(isObject));
  return {
    model,
    system: system.map((message) => contentText(field(message, "content"))),
    tools: listField(body, "tools").flatMap(readChatTool),
    messages: others.map((message) => ({ ...message, role: textField(message, "role") ?? "user" })),
    outputTokensMax: readLimit(field(body, "max_completion_tokens") ?? field(body, "max_tokens")),
  };
}

function writeChat(body: JsonObject, { params, outgoing }: PreparedRequest<"openai-chat">): object {
  const { system, others } = splitSystem(listField(body, "messages").filter(isObject));
  const view = params.messages.filter(({ role }) => role !== "system");
  return {
    ...body,
    ...replyLimit(body, params.max_completion_tokens),
    messages: [...system, ...writeList("openai-chat", { outgoing, given: others, view })],
  };
}

function replyLimit(body: JsonObject, limit: number | undefined): JsonObject {
  const key = field(body, "max_tokens") === undefined ? "max_completion_tokens" : "max_tokens";
  const asked = field(body, key);
  return typeof asked === "number" && limit !== undefined ? { [key]: Math.min(asked, limit) } : {};
}

/**
 * Requests may continue an earlier response by its id. Its list is known here, so the whole of it is sent instead: what the
 * server keeps can't be made smaller.
 */
class ResponsesFormat implements RequestFormat<"openai-responses"> {
  /** Input and output of each response so far, by its id. The newest is last. */
  readonly #itemsById = new Map<string, readonly JsonObject[]>();

  read(path: string, body: JsonObject): FrameworkRequest<"openai-responses"> | undefined {
    const model = textField(body, "model");
    const input = path.endsWith("/responses") ? this.#list(body) : undefined;
    if (input === undefined || model === undefined) return undefined;
    const { system, others } = splitSystem(input);
    const instructions = textField(body, "instructions");
    return {
      model,
      system: [
        ...(instructions === undefined ? [] : [instructions]),
        ...system.map((item) => contentText(field(item, "content"))),
      ],
      tools: listField(body, "tools").flatMap(readResponsesTool),
      messages: others,
      outputTokensMax: readLimit(field(body, "max_output_tokens")),
    };
  }

  write(body: JsonObject, { params, outgoing }: PreparedRequest<"openai-responses">): object {
    const { previous_response_id: _previous, ...whole } = body;
    const { system, others } = splitSystem(this.#list(body) ?? []);
    const asked = field(body, "max_output_tokens");
    const limit = params.max_output_tokens;
    return {
      ...whole,
      ...(typeof asked === "number" && limit !== undefined ? { max_output_tokens: Math.min(asked, limit) } : {}),
      input: [...system, ...writeList("openai-responses", { outgoing, given: others, view: params.input })],
    };
  }

  refuse(): undefined {
    return undefined;
  }

  writeError(message: string): object {
    return writeError(message);
  }

  /** `message`: a whole response, or an event of its stream. One that was cut off can be continued too. */
  onReply(body: JsonObject, message: JsonObject): void {
    const inner = field(message, "response");
    const isEnd = ["response.completed", "response.incomplete"].includes(textField(message, "type") ?? "");
    const response = isEnd && isObject(inner) ? inner : message;
    const id = textField(response, "id");
    const output = field(response, "output");
    if (id === undefined || !isArray(output)) return;
    this.#itemsById.set(id, [...(this.#list(body) ?? []), ...output.filter(isObject)]);
    const [oldest] = this.#itemsById.keys();
    if (this.#itemsById.size > continuedResponsesMax && oldest !== undefined) this.#itemsById.delete(oldest);
  }

  /** The whole list of a request; undefined if only the server has it. */
  #list(body: JsonObject): readonly JsonObject[] | undefined {
    const previous = field(body, "previous_response_id") ?? null;
    const isKept = (field(body, "conversation") ?? null) !== null;
    const before = typeof previous === "string" ? this.#itemsById.get(previous) : [];
    return before === undefined || isKept ? undefined : [...before, ...readInput(field(body, "input"))];
  }
}

const readInput = (input: Json | undefined): readonly JsonObject[] =>
  typeof input === "string"
    ? [{ type: "message", role: "user", content: input }]
    : (isArray(input) ? input : []).filter(isObject);

/** Instructions in front are the system prompt; later ones are part of the conversation. */
function splitSystem(messages: readonly JsonObject[]): {
  readonly system: readonly JsonObject[];
  readonly others: readonly JsonObject[];
} {
  const end = messages.findIndex((message) => !["system", "developer"].includes(textField(message, "role") ?? ""));
  const count = end === -1 ? messages.length : end;
  return { system: messages.slice(0, count), others: messages.slice(count) };
}

function contentText(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return (isArray(content) ? content : [])
    .filter(isObject)
    .map((part) => textField(part, "text") ?? "")
    .join("\n");
}

function readChatTool(tool: Json): readonly ToolOption[] {
  const definition = isObject(tool) ? field(tool, "function") : undefined;
  return isObject(definition) ? [toToolOption(definition)] : [];
}

const readResponsesTool = (tool: Json): readonly ToolOption[] =>
  isObject(tool) && textField(tool, "type") === "function" ? [toToolOption(tool)] : [];

function toToolOption(definition: JsonObject): ToolOption {
  const parameters = field(definition, "parameters");
  return {
    name: textField(definition, "name") ?? "",
    description: textField(definition, "description"),
    input_schema: isObject(parameters) ? parameters : { type: "object" },
  };
}

const readLimit = (limit: Json | undefined): number | undefined =>
  typeof limit === "number" && limit > 0 ? limit : undefined;
