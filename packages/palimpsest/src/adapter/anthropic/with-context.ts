import type Anthropic from "@anthropic-ai/sdk";
import type { Context } from "../../context/context.ts";
import { replaceMarks, writeOutgoing } from "../../context/sync/write-outgoing.ts";
import { field, isArray, isObject, type Json, type JsonObject, listField, textField } from "../../schema/json.ts";
import {
  AdapterContext,
  type AdapterOptions,
  type FrameworkRequest,
  type PreparedRequest,
} from "../shared/adapter-context.ts";
import { clientFetch } from "../shared/client-fetch.ts";
import { contextFetch, refuseRequest, type RequestFormat } from "../shared/context-fetch.ts";
import { readSystem, readTools } from "../shared/read-options.ts";

export interface AnthropicOptions extends Omit<AdapterOptions<"anthropic">, "summarizer"> {
  /** `own`: the conversation's model, by the same client. By default summaries are made from the messages, by no model. */
  readonly summarizer?: AdapterOptions<"anthropic">["summarizer"] | "own";
}

export interface ContextHandle {
  /** The conversation's context, once the first request is prepared. */
  readonly context: Promise<Context<"anthropic">>;
  /** Closes its session. */
  readonly closeContext: () => Promise<void>;
}

/**
 * The same client, for one conversation of any length: its messages (created, streamed, or by the tool runner) pass
 * through a context, and what is sent always fits the window.
 */
export function withContext<Client extends Anthropic>(
  client: Client,
  options: AnthropicOptions = {},
): Client & ContextHandle {
  const { summarizer, ...others } = options;
  const own: AdapterOptions<"anthropic">["summarizer"] = ({ params, signal }) =>
    client.messages.create(params, { signal });
  const given = summarizer === "own" ? own : summarizer;
  const adapter = new AdapterContext("anthropic", { ...others, ...(given === undefined ? {} : { summarizer: given }) });
  const fetch = contextFetch(clientFetch(client), { format: messagesFormat, adapter });
  return Object.assign(client.withOptions({ fetch }), {
    context: adapter.context,
    closeContext: () => adapter.close(),
  });
}

const messagesFormat: RequestFormat<"anthropic"> = {
  read: readRequest,
  write: writeRequest,
  refuse: refuseThread,
  onReply: () => undefined,
  writeError: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
};

function readRequest(path: string, body: JsonObject): FrameworkRequest<"anthropic"> | undefined {
  const messages = field(body, "messages");
  const model = textField(body, "model");
  // A compaction on demand is a question about the list as it is.
  if (
    !path.endsWith("/messages") ||
    !isArray(messages) ||
    model === undefined ||
    field(body, "compaction") !== undefined
  )
    return undefined;
  const limit = field(body, "max_tokens");
  return {
    model,
    system: readSystem(field(body, "system")),
    tools: readTools(listField(body, "tools")),
    messages: messages.filter(isObject).map(readMessage),
    thinking: readThinking(field(body, "thinking")),
    outputTokensMax: typeof limit === "number" && limit > 0 ? limit : undefined,
  };
}

function readMessage(message: JsonObject) {
  const content = field(message, "content");
  const blocks = isArray(content) ? content.filter(isObject) : [];
  return { role: textField(message, "role") ?? "user", content: typeof content === "string" ? content : blocks };
}

function readThinking(thinking: Json | undefined): { readonly type: string } | undefined {
  const type = isObject(thinking) ? textField(thinking, "type") : undefined;
  return type === undefined ? undefined : { ...(isObject(thinking) ? thinking : {}), type };
}

/** Cache marks are the context's: a request may have only four. */
function writeRequest(body: JsonObject, { params, outgoing }: PreparedRequest<"anthropic">): object {
  const { cache_control: _mark, system: _system, tools: _tools, thinking, ...others } = body;
  const { thinking: _thinking, max_tokens: limit, messages, ...sent } = params;
  const given = listField(body, "messages").filter(isObject);
  const asked = field(body, "max_tokens");
  return {
    ...others,
    ...sent,
    messages:
      outgoing === undefined
        ? messages
        : writeOutgoing("anthropic", { outgoing, valueAt: (at) => given[at] }).map(({ value, marks }) =>
            replaceMarks(value, marks),
          ),
    max_tokens: typeof asked === "number" ? Math.min(asked, limit) : limit,
    ...(thinking === undefined ? {} : { thinking }),
  };
}

/** A thread sends only what is new, so the server would have to keep the list. The tool runner then sends all of it. */
function refuseThread(body: JsonObject): Response | undefined {
  if (field(body, "thread") === undefined) return undefined;
  const message = "A client with a context keeps the conversation itself: send the whole list, without a thread.";
  const details = { error_code: "thread_unsupported_request", unsupported: ["context_management"] };
  return refuseRequest({ type: "error", error: { type: "invalid_request_error", message, details } });
}
