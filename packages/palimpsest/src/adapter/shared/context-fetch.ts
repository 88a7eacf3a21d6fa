import { ContextError } from "../../context/context-error.ts";
import type { Provider } from "../../context/provider-formats.ts";
import { isObject, type JsonObject, tryParseJson } from "../../schema/json.ts";
import type { AdapterContext, FrameworkRequest, PreparedRequest } from "./adapter-context.ts";
import { plainerTriesMax } from "./limits.ts";
import { recordReply } from "./record-reply.ts";

/** How a provider's client writes its requests. */
export interface RequestFormat<P extends Provider> {
  /** What the context must know of a request; undefined if it is no request of a conversation. */
  read(path: string, body: JsonObject): FrameworkRequest<P> | undefined;
  /** The body to send: what the framework asked for, with the context's messages, system prompt and tools. */
  write(body: JsonObject, request: PreparedRequest<P>): object;
  /** Told of what came back for a request: the whole reply, or each event of its stream. */
  onReply(body: JsonObject, message: JsonObject): void;
  /** An answer without asking the server, if the context can't take such a request. */
  refuse(body: JsonObject): Response | undefined;
  /** The body of a refusal, as the provider's servers write it. */
  writeError(message: string): object;
}

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` that passes every request of a conversation through its context: what is sent is smaller, and the reply is
 * recorded as it passes by. Everything else that a client does, such as streams, retries and helpers, stays the client's.
 */
export function contextFetch<P extends Provider>(
  fetch: Fetch,
  { format, adapter }: { readonly format: RequestFormat<P>; readonly adapter: AdapterContext<P> },
): Fetch {
  return async (input, init) => {
    const body = typeof init?.body === "string" ? tryParseJson(init.body) : undefined;
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const read = isObject(body) ? format.read(pathname, body) : undefined;
    if (init === undefined || !isObject(body) || read === undefined) return await fetch(input, init);
    const refusal = format.refuse(body);
    if (refusal !== undefined) return refusal;
    const { signal } = init;
    const ending = "any" as const;
    const request = signal instanceof AbortSignal ? { ...read, ending, signal } : { ...read, ending };
    const send = (prepared: PreparedRequest<P>): Promise<Response> =>
      fetch(input, { ...init, ...writeInit(init, prepared.betas), body: JSON.stringify(format.write(body, prepared)) });
    try {
      const response = await sendPrepared(adapter, { request, send });
      return await recordReply(adapter, { response, onReply: (message) => format.onReply(body, message) });
    } catch (error) {
      if (!(error instanceof ContextError) || error.code === "aborted") throw error;
      // No message that the context knows, or a call without its result: the provider says what is wrong with it.
      if (error.code === "not-sendable") return await fetch(input, init);
      return refuseRequest(format.writeError(error.message));
    }
  };
}

/** A client throws it as the error of its kind, at once. */
export const refuseRequest = (body: object): Response =>
  Response.json(body, { status: 400, headers: { "x-should-retry": "false" } });

interface SendInput<P extends Provider> {
  readonly request: FrameworkRequest<P>;
  readonly send: (request: PreparedRequest<P>) => Promise<Response>;
}

/** A request that is refused for what it holds is sent again without it. Waiting and trying again is left to the client. */
async function sendPrepared<P extends Provider>(
  adapter: AdapterContext<P>,
  { request, send }: SendInput<P>,
): Promise<Response> {
  let response = await send(await adapter.sync(request));
  for (let tries = 0; tries < plainerTriesMax && isAboutRequest(response); tries += 1) {
    const text = await response.clone().text();
    const refusal = { status: response.status, body: tryParseJson(text) ?? text };
    const prepared = await adapter.syncRefused(request, refusal);
    if (prepared === undefined) return response;
    response = await send(prepared);
  }
  return response;
}

const isAboutRequest = ({ status }: Response): boolean => status === 400 || status === 413;

function writeInit(init: RequestInit, betas: readonly string[]): Pick<RequestInit, "headers"> {
  const headers = new Headers(init.headers);
  headers.delete("content-length");
  for (const beta of betas) headers.append("anthropic-beta", beta);
  return { headers };
}
