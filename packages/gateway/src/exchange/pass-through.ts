import type { Provider } from "palimpsest/internal/context/provider-formats";
import { forwardHeaders } from "../upstream/headers.ts";
import {
  type Upstream,
  UpstreamBroken,
  type UpstreamFailure,
  type UpstreamReply,
  type UpstreamRequest,
} from "../upstream/upstream.ts";
import { type ErrorReplyInput, failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest, Exchange } from "./exchange.ts";

export type PassedRequest = Omit<ClientRequest, "body" | "operation" | "project" | "user" | "files"> & {
  readonly body: UpstreamRequest["body"];
};

export type PassOutcome =
  | { readonly kind: "passed"; readonly status: number }
  /** `began`: the client had a part of the reply, and saw its connection end. */
  | { readonly kind: "broken"; readonly began: "began" | "nothing"; readonly why: UpstreamFailure["why"] };

export interface PassOptions {
  readonly request: PassedRequest;
  readonly reply: ClientReply;
  /** Why we ended the request's body ourselves, if we did: then there is no failure of the upstream. */
  readonly refusal?: (() => Pick<ErrorReplyInput, "error" | "message"> | undefined) | undefined;
}

/** Sends a request on as it is, and the reply back as it is. Never reads either. */
export async function passThrough(upstream: Upstream, { request, reply, refusal }: PassOptions): Promise<PassOutcome> {
  const { provider, method, path, body, signal } = request;
  const outcome = await upstream.send({ provider, method, path, headers: streamHeaders(request), body, signal });
  if (outcome.kind === "failed") {
    const refused = refusal?.();
    const error = refused === undefined ? failureReply(provider, outcome) : { provider, ...refused };
    if (!reply.headersSent) await sendError(reply, error);
    return { kind: "broken", began: "nothing", why: outcome.why };
  }
  return await passReply(outcome, reply);
}

/** Sends a reply back as it is. */
export async function passReply({ status, headers, body }: UpstreamReply, reply: ClientReply): Promise<PassOutcome> {
  reply.head(status, headers);
  try {
    for await (const chunk of body) await reply.write(chunk);
  } catch (error) {
    reply.destroy();
    return { kind: "broken", began: "began", why: brokenWhy(error) };
  }
  await reply.end();
  return { kind: "passed", status };
}

/** An exchange that changes nothing. */
export const passExchange =
  (upstream: Upstream): Exchange =>
  async (request, reply) => {
    await passThrough(upstream, { request: { ...request, body: [request.body] }, reply });
  };

/** A stream of a known length keeps it: some servers take no chunked bodies. */
function streamHeaders({ headers, body }: PassedRequest): ReturnType<typeof forwardHeaders> {
  const forwarded = forwardHeaders(headers);
  const length = headers["content-length"];
  return Array.isArray(body) || length === undefined ? forwarded : { ...forwarded, "content-length": length };
}

const brokenWhy = (error: unknown): UpstreamFailure["why"] => {
  if (!(error instanceof UpstreamBroken)) return "reset";
  return error.why === "timeout" || error.why === "cancelled" ? error.why : "reset";
};

/** The provider whose upstream a request of no known path is for. */
export function guessProvider(
  headers: ClientRequest["headers"],
  { path, only }: { readonly path: string; readonly only: Provider | undefined },
): Provider {
  if (only !== undefined) return only;
  if (headers["anthropic-version"] !== undefined || headers["x-api-key"] !== undefined) return "anthropic";
  if (/^\/(?:api|v1\/(?:messages|complete|organizations|skills))(?:\/|\?|$)/.test(path)) return "anthropic";
  return headers.authorization === undefined ? "anthropic" : "openai-chat";
}
