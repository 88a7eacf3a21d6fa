import type { IncomingMessage, ServerResponse } from "node:http";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import { errorReply, type ErrorReply, type ErrorReplyInput, type GatewayError } from "../exchange/error-reply.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { describeError } from "../exchange/describe-error.ts";
import { guessProvider, passThrough } from "../exchange/pass-through.ts";
import type { GatewayListener, RequestEnd, RequestOperation } from "../operate/gateway-event.ts";
import { type ClientAccount, type Identity, localUser, sentKey, type UserRegistry } from "../operate/users.ts";
import { hopHeader } from "../upstream/headers.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { type AllowedNames, asksForWebSocket, checkRequest, isOnThisMachine, type Refusal } from "./check-request.ts";
import { bodyBytesMax, bodyIdleMsMax, lingerMs, passedBodyBytesMax } from "./limits.ts";
import { readBody, streamBody } from "./read-body.ts";
import { ResponseReply } from "./response-reply.ts";
import { isPathAllowed, type GatewayPage, parseRoute, type Route } from "./route.ts";

export interface HandlerDeps {
  readonly exchange: Exchange;
  readonly upstream: Upstream;
  readonly users: UserRegistry;
  readonly names: () => AllowedNames;
  /** The provider of the only upstream, if there is only one. */
  readonly onlyProvider: () => Provider | undefined;
  /** Answers the gateway's own pages. */
  readonly servePage: (page: GatewayPage, http: HttpPair) => void;
  readonly onEvent: GatewayListener;
  readonly bodyIdleMs?: number | undefined;
  readonly stalledMs?: number | undefined;
  /** Paths of the config that pass for all users: see `isPathAllowed`. */
  readonly paths?: (() => readonly string[]) | undefined;
  /** Sent with every upstream request. A request that arrives with it has looped and is refused. */
  readonly hop?: string | undefined;
}

export interface HttpPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The steps of a request; each may answer it:
 *
 *   headers, Host and Origin are valid (400, 403) → no WebSocket (426) → path → own page
 *     → user by key (401) → limits (429) → body (408; 413, or passed on unread) → exchange, or passed on
 */
export class RequestHandler {
  readonly #deps: HandlerDeps;
  readonly #running = new Set<ServerResponse>();
  #count = 0;
  #isDraining = false;

  constructor(deps: HandlerDeps) {
    this.#deps = deps;
  }

  /** Requests whose reply is not finished. */
  get running(): ReadonlySet<ServerResponse> {
    return this.#running;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on new requests are refused. */
  drain(): void {
    this.#isDraining = true;
  }

  handle(pair: HttpPair): void {
    const { request, response } = pair;
    const { onlyProvider, names, servePage } = this.#deps;
    const { method = "GET", url = "" } = request;
    const route = parseRoute(method, url);
    const path = route.kind === "pass" ? route.path : url;
    const provider =
      route.kind === "exchange" ? route.provider : guessProvider(request.headers, { path, only: onlyProvider() });
    const refuse = (error: GatewayError, message: string): void => this.#refuse(pair, { provider, error, message });
    const refusal = checkRequest(request, names());
    if (refusal !== undefined) return refuse(refusal.error, refusal.message);
    if (asksForWebSocket(request)) return refuse("upgrade", "WebSocket is not supported; use HTTP.");
    if (this.#deps.hop !== undefined && request.headers[hopHeader] === this.#deps.hop)
      return refuse("loop", "Request loop: the upstream in the gateway's config is the gateway itself.");
    if (route.kind === "wrong") return refuse("wrong-request", route.message);
    if (route.kind === "absent") return refuse("not-found", "The gateway has no such page.");
    if (route.kind === "own") return servePage(route.page, pair);
    if (this.#isDraining) return refuse("draining", "The gateway is shutting down; try again.");
    this.#running.add(response);
    response.once("close", () => this.#running.delete(response));
    this.#answer(pair, { route, provider }).catch((error: unknown) => {
      this.#deps.onEvent({ kind: "bug", message: describeError(error) });
      if (response.headersSent) response.destroy();
      else refuse("bug", "Internal error in the gateway.");
    });
  }

  async #answer(pair: HttpPair, { route, provider }: Target): Promise<void> {
    const { users, onEvent } = this.#deps;
    const { request, response } = pair;
    const user = users.identify(request.headers, provider === "anthropic" ? "anthropic" : "openai");
    if (user.kind === "unknown")
      return this.#refuse(pair, {
        provider,
        error: "unknown-key",
        message: hasKey(request) ? "Unknown gateway key." : keyMissing,
      });
    const account = users.account(user.name, provider === "anthropic" ? "anthropic" : "openai");
    if (
      route.kind === "pass" &&
      !isPathAllowed({ method: request.method, route, account, paths: this.#deps.paths?.() })
    )
      return this.#refuse(pair, {
        provider,
        error: "forbidden",
        message: "You may not use this path. The operator can allow it with `paths` in the config.",
      });
    const admission = users.admit(user.name);
    if (admission.kind !== "admitted") return this.#refuse(pair, { provider, error: admission.kind, ...admission });
    const operation: RequestOperation = route.kind === "exchange" ? route.operation : "pass";
    const start = { id: (this.#count += 1), user: user.name, provider, operation };
    const startedAt = performance.now();
    const { traceparent } = request.headers;
    onEvent({ kind: "request-start", ...start, ...(typeof traceparent === "string" ? { traceparent } : {}) });
    const keyRefusal = hasCredentials(user) ? undefined : refuseWithoutKey(user.name, provider);
    const reply = new ResponseReply(response, { stalledMs: this.#deps.stalledMs, keyRefusal });
    const client = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) client.abort();
    });
    const emitRequestEnd = ({ bytesIn, outcome, error }: Pick<RequestEnd, "bytesIn" | "outcome" | "error">): void =>
      onEvent({
        kind: "request-end",
        ...start,
        method: request.method ?? "GET",
        status: reply.status ?? 0,
        outcome,
        ...(error === undefined ? {} : { error }),
        ms: performance.now() - startedAt,
        bytesIn,
        bytesOut: reply.bytes,
      });
    try {
      const bytesIn = await this.#exchange(pair, { route, provider, user, account, reply, signal: client.signal });
      const outcome = response.writableFinished ? "done" : reply.isDestroyed ? "broken" : "client-gone";
      emitRequestEnd({ bytesIn, outcome, error: reply.gatewayError });
    } catch (error) {
      emitRequestEnd({ bytesIn: 0, outcome: "broken", error: "bug" });
      throw error;
    }
  }

  /** Resolves with the size of the client's body. */
  async #exchange(pair: HttpPair, { route, provider, user, account, reply, signal }: Admitted): Promise<number> {
    const { exchange, upstream, bodyIdleMs: idleMsMax = bodyIdleMsMax } = this.#deps;
    const { request } = pair;
    const { method = "GET" } = request;
    const { headers } = user;
    const pass = async (begun?: Uint8Array): Promise<number> => {
      const expected = Number(headers["content-length"] ?? 0);
      if (expected > passedBodyBytesMax) await this.#refuseBody(pair, { provider, reply, why: "too-large" });
      else {
        const streamed = hasBody(request)
          ? streamBody(request, { bytesMax: passedBodyBytesMax, idleMsMax, begun })
          : { stream: [], refusal: () => undefined };
        const passed = { provider, method, path: route.path, headers, body: streamed.stream, signal };
        const refusal = () => describeRefusal(streamed.refusal());
        await passThrough(upstream, { request: passed, reply, refusal });
      }
      return expected;
    };
    if (route.kind === "pass") return await pass();
    const body = await readBody(request, { bytesMax: bodyBytesMax, idleMsMax });
    if (body.kind === "gone") return 0;
    // What is not read can't be charged, nor checked for what a user may not do with the operator's key.
    if (body.kind === "too-large" && account.key === "client" && account.spend === "unlimited") {
      const message = "the body is larger than the gateway reads (32 MB)";
      this.#deps.onEvent({ kind: "failed-open", user: user.name, step: "body", message });
      return await pass(body.begun);
    }
    if (body.kind !== "body") {
      await this.#refuseBody(pair, { provider, reply, why: body.kind });
      return 0;
    }
    const { operation, path, project } = route;
    const files = user.name === localUser && isOnThisMachine(request) ? "shared" : "separate";
    await exchange(
      {
        user: user.name,
        provider,
        operation,
        method,
        path,
        headers,
        project,
        body: body.bytes,
        account,
        files,
        signal,
      },
      reply,
    );
    return body.bytes.byteLength;
  }

  async #refuseBody(
    { request, response }: HttpPair,
    {
      provider,
      reply,
      why,
    }: { readonly provider: Provider; readonly reply: ResponseReply; readonly why: "too-large" | "slow" },
  ): Promise<void> {
    const { status, headers, body } = errorReply({ provider, ...bodyRefusals[why] });
    reply.head(status, { ...headers, connection: "close" });
    await reply.write(body);
    await dropRest(request);
    await reply.end();
    response.destroy();
  }

  #refuse({ request, response }: HttpPair, input: ErrorReplyInput): void {
    const { status, headers, body } = errorReply(input);
    this.#deps.onEvent({ kind: "refused", status, error: input.error, message: input.message });
    if (response.destroyed || response.headersSent) return;
    const isWhole = request.complete || !hasBody(request);
    response.writeHead(status, isWhole ? headers : { ...headers, connection: "close" });
    if (isWhole) {
      response.end(body);
      return;
    }
    response.write(body);
    void dropRest(request).then(() => response.end());
  }
}

interface Target {
  readonly route: Extract<Route, { kind: "exchange" | "pass" }>;
  readonly provider: Provider;
}

interface Admitted extends Target {
  readonly user: Extract<Identity, { kind: "user" }>;
  readonly account: ClientAccount;
  readonly reply: ResponseReply;
  readonly signal: AbortSignal;
}

const hasKey = ({ headers }: IncomingMessage): boolean =>
  headers["x-palimpsest-key"] !== undefined || sentKey(headers) !== undefined;

const keyMissing =
  "This gateway needs a gateway key. Send it in the header x-api-key, or authorization (Bearer …); or in x-palimpsest-key, beside a key of your own for the API.";

/** Whether the upstream can know who asks: some servers of this machine need no key. */
const hasCredentials = ({ headers }: Extract<Identity, { kind: "user" }>): boolean =>
  ["x-api-key", "authorization", "api-key", "cookie"].some((name) => (headers[name] ?? "") !== "");

function refuseWithoutKey(user: string, provider: Provider): ErrorReply {
  const [api, variable] =
    provider === "anthropic" ? (["anthropic", "ANTHROPIC_API_KEY"] as const) : (["openai", "OPENAI_API_KEY"] as const);
  const message =
    user === localUser
      ? `The request has no API key, and the upstream needs one. Set ${variable} for the client: the gateway passes its key on.`
      : `The gateway has no API key of ${user} for this upstream. The operator sets it in the gateway's config (users: upstreamKeys.${api}); or send your gateway key in x-palimpsest-key, and a key of your own for the API as usual.`;
  return errorReply({ provider, error: "unknown-key", message });
}

const mebibyte = 2 ** 20;

const bodyRefusals = {
  slow: { error: "slow-body", message: `The request body stalled for ${bodyIdleMsMax / 1_000} seconds.` },
  "too-large": {
    error: "too-large",
    message: `The request body is too large: the limit is ${bodyBytesMax / mebibyte} MB, or ${passedBodyBytesMax / mebibyte} MB on paths that are passed on.`,
  },
} as const;

const describeRefusal = (why: keyof typeof bodyRefusals | undefined): Refusal | undefined =>
  why === undefined ? undefined : bodyRefusals[why];

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** Closing a connection while the client still writes resets it, and the client never reads the refusal. */
function dropRest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, lingerMs);
    const settle = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (request.complete || request.destroyed) return settle();
    request.once("end", settle).once("close", settle).resume();
  });
}
