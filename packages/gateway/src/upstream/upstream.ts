import { Readable } from "node:stream";
import { errorCode } from "palimpsest/internal/store/files/disk";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import { type Dispatcher, Pool } from "undici";
import { ByteQueue } from "./byte-queue.ts";
import { type Headers, hopHeader, returnHeaders } from "./headers.ts";
import {
  connectionIdleMs,
  connectionWaitMsMax,
  connectMsMax,
  replyBufferBytesMax,
  replyHeadMsMax,
  replyIdleMsMax,
  staleConnectionMs,
  upstreamConnectionsMax,
} from "./limits.ts";
import { parseUpstreamUrl } from "./upstream-url.ts";

export interface UpstreamRequest {
  readonly provider: Provider;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Without those of the client's connection: see `forwardHeaders`. */
  readonly headers: Headers;
  /** A stream is sent as it comes, in chunks unless the headers have its length. */
  readonly body: readonly Uint8Array[] | Readable;
  readonly signal: AbortSignal;
}

export interface UpstreamReply {
  readonly kind: "reply";
  readonly status: number;
  /** Without those of the upstream's connection. */
  readonly headers: Headers;
  /** Throws an `UpstreamBroken` if the reply ends early. A consumer that stops early ends the request. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface UpstreamFailure {
  readonly kind: "failed";
  /** `cancelled`: by the request's own signal, or because its body failed. `absent`: no upstream of this provider is configured. */
  readonly why: "unreachable" | "timeout" | "reset" | "cancelled" | "absent";
  readonly message: string;
}

export interface Upstream {
  /** Must not reject. */
  send(request: UpstreamRequest): Promise<UpstreamReply | UpstreamFailure>;
}

/** A reply broke off before it was complete. */
export class UpstreamBroken extends Error {
  override readonly name = "UpstreamBroken";
  readonly why: UpstreamFailure["why"];

  constructor({ why, message }: Omit<UpstreamFailure, "kind">) {
    super(message);
    this.why = why;
  }
}

export interface UpstreamOptions {
  /** Base URLs, as clients write them. They passed `parseUpstreamUrl`. */
  readonly urls: UpstreamUrls;
  readonly timeouts?: UpstreamTimeouts | undefined;
  /** Sent with each request: see `hopHeader`. */
  readonly hop?: string | undefined;
  /** Called when a reply has begun, or did not come. */
  readonly onOutcome?: ((outcome: UpstreamSummary) => void) | undefined;
}

export interface UpstreamSummary {
  readonly provider: Provider;
  readonly status?: number | undefined;
  readonly why?: UpstreamFailure["why"] | undefined;
  readonly ms: number;
}

export interface UpstreamUrls {
  readonly anthropic?: string | undefined;
  readonly openai?: string | undefined;
}

export interface UpstreamTimeouts {
  readonly headMs?: number | undefined;
  readonly idleMs?: number | undefined;
  readonly waitMs?: number | undefined;
  /** Connections to one upstream. */
  readonly connections?: number | undefined;
}

/** Connections to the upstreams, kept open between requests. HTTP/1.1: each reply has its own connection, so a slow one never blocks another. */
export class UpstreamPools implements Upstream {
  readonly #targets: Readonly<Record<keyof UpstreamUrls, Target | undefined>>;

  readonly #onOutcome: UpstreamOptions["onOutcome"];
  readonly #gatewayHeaders: Headers;

  constructor({ urls, timeouts = {}, hop, onOutcome }: UpstreamOptions) {
    this.#gatewayHeaders = hop === undefined ? {} : { [hopHeader]: hop };
    this.#onOutcome = onOutcome;
    this.#targets = { anthropic: openTarget(urls.anthropic, timeouts), openai: openTarget(urls.openai, timeouts) };
  }

  async send(given: UpstreamRequest): Promise<UpstreamReply | UpstreamFailure> {
    const request = { ...given, headers: { ...given.headers, ...this.#gatewayHeaders } };
    const kind = request.provider === "anthropic" ? "anthropic" : "openai";
    const target = this.#targets[kind];
    if (target === undefined)
      return {
        kind: "failed",
        why: "absent",
        message: `The gateway has no upstream for ${kind}: its config has no upstream.${kind}.`,
      };
    const startedAt = performance.now();
    const outcome = await dispatch(target, request);
    const isStale =
      outcome.kind === "failed" && outcome.why === "reset" && performance.now() - startedAt < staleConnectionMs;
    const last = isStale && !(request.body instanceof Readable) ? await dispatch(target, request) : outcome;
    const ms = performance.now() - startedAt;
    const { provider } = request;
    this.#onOutcome?.(last.kind === "reply" ? { provider, status: last.status, ms } : { provider, why: last.why, ms });
    return last;
  }

  /** Ends what is still running. */
  async close(): Promise<void> {
    await this.#targets.anthropic?.pool.destroy();
    await this.#targets.openai?.pool.destroy();
  }
}

interface Target {
  readonly pool: Pool;
  readonly prefix: string;
  readonly waitMs: number;
}

function openTarget(
  address: string | undefined,
  { headMs, idleMs, waitMs = connectionWaitMsMax, connections = upstreamConnectionsMax }: UpstreamTimeouts,
): Target | undefined {
  if (address === undefined) return undefined;
  const url = parseUpstreamUrl(address);
  if (url.kind === "wrong") throw new TypeError(url.message);
  const pool = new Pool(url.origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectMsMax },
    keepAliveTimeout: connectionIdleMs,
    headersTimeout: headMs ?? replyHeadMsMax,
    bodyTimeout: idleMs ?? replyIdleMsMax,
  });
  return { pool, prefix: url.prefix, waitMs };
}

function dispatch(
  { pool, prefix, waitMs }: Target,
  request: UpstreamRequest,
): Promise<UpstreamReply | UpstreamFailure> {
  const { method, path, headers, body, signal } = request;
  if (signal.aborted) return Promise.resolve(cancelled);
  const handler = new ReplyHandler({ signal, requestBody: body, waitMs });
  try {
    pool.dispatch({ method, path: `${prefix}${path}`, headers, body: toBody(body) }, handler);
  } catch (error) {
    handler.fail(error);
  }
  return handler.outcome;
}

/** Joined into one write: copying a megabyte takes a tenth of a millisecond, hundreds of small writes take longer. */
function toBody(body: UpstreamRequest["body"]): Uint8Array | Readable | null {
  if (body instanceof Readable) return body;
  const [first] = body;
  if (first === undefined) return null;
  return body.length === 1 ? first : Buffer.concat(body);
}

const cancelled: UpstreamFailure = { kind: "failed", why: "cancelled", message: "The client went away." };

const noConnection: Omit<UpstreamFailure, "kind"> = {
  why: "timeout",
  message: "All connections to the upstream are in use.",
};

/** Turns the callbacks of undici into an outcome and its body. Web streams would cost more for each chunk (docs/dependencies.md). */
class ReplyHandler implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<UpstreamReply | UpstreamFailure>;
  readonly #resolve: (outcome: UpstreamReply | UpstreamFailure) => void;
  readonly #signal: AbortSignal;
  readonly #requestBody: UpstreamRequest["body"];
  readonly #body: ByteQueue;
  readonly #waiting: NodeJS.Timeout;
  #isGivenUp = false;
  #controller: Dispatcher.DispatchController | undefined;

  constructor({
    signal,
    requestBody,
    waitMs,
  }: {
    readonly signal: AbortSignal;
    readonly requestBody: UpstreamRequest["body"];
    /** For a connection. */
    readonly waitMs: number;
  }) {
    const { promise, resolve } = Promise.withResolvers<UpstreamReply | UpstreamFailure>();
    this.outcome = promise;
    this.#resolve = resolve;
    this.#signal = signal;
    this.#requestBody = requestBody;
    this.#body = new ByteQueue({ onTake: () => this.#resume(), onCancel: () => this.#cancel() });
    signal.addEventListener("abort", this.#cancel, { once: true });
    this.#waiting = setTimeout(() => {
      this.#isGivenUp = true;
      this.fail(new UpstreamBroken(noConnection));
    }, waitMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    clearTimeout(this.#waiting);
    this.#controller = controller;
    if (this.#signal.aborted) this.#cancel();
    else if (this.#isGivenUp) controller.abort(new UpstreamBroken(noConnection));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Parameters<typeof returnHeaders>[0],
  ): void {
    // An interim reply such as 103: the real one follows.
    if (status < 200) return;
    this.#resolve({ kind: "reply", status, headers: returnHeaders(headers), body: this.#body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body.push(chunk);
    if (this.#body.bytes > replyBufferBytesMax) controller.pause();
  }

  onResponseEnd(): void {
    this.#signal.removeEventListener("abort", this.#cancel);
    this.#body.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    clearTimeout(this.#waiting);
    this.#signal.removeEventListener("abort", this.#cancel);
    const isOurs =
      this.#signal.aborted || (this.#requestBody instanceof Readable && this.#requestBody.errored !== null);
    const failure = isOurs ? cancelled : describeFailure(error);
    this.#resolve(failure);
    this.#body.end(new UpstreamBroken(failure));
  }

  #resume(): void {
    if (this.#controller?.paused === true && this.#body.bytes <= replyBufferBytesMax) this.#controller.resume();
  }

  /** A request that still waits for a connection has no controller: it is ended when it gets one. */
  readonly #cancel = (): void => {
    clearTimeout(this.#waiting);
    this.#resolve(cancelled);
    this.#body.end(new UpstreamBroken(cancelled));
    this.#controller?.abort(new UpstreamBroken(cancelled));
  };
}

const whyByCode: ReadonlyMap<string, UpstreamFailure["why"]> = new Map([
  ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
  ["UND_ERR_BODY_TIMEOUT", "timeout"],
  ["UND_ERR_CONNECT_TIMEOUT", "unreachable"],
  ["ECONNREFUSED", "unreachable"],
  ["EHOSTUNREACH", "unreachable"],
  ["ENETUNREACH", "unreachable"],
  ["ENOTFOUND", "unreachable"],
  ["EAI_AGAIN", "unreachable"],
  ["ECONNRESET", "reset"],
  ["EPIPE", "reset"],
  ["UND_ERR_SOCKET", "reset"],
]);

const textByWhy = {
  unreachable: "The upstream can't be reached",
  timeout: "The upstream sent nothing for too long",
  reset: "The upstream closed the connection",
  cancelled: "The client went away",
  absent: "There is no such upstream",
} as const satisfies Readonly<Record<UpstreamFailure["why"], string>>;

function describeFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamBroken) return { kind: "failed", why: error.why, message: error.message };
  const code = errorCode(error);
  // TLS errors have many codes and come before the connection is made; parser errors start with HPE.
  const why = whyByCode.get(code ?? "") ?? (code?.startsWith("HPE_") === true ? "reset" : "unreachable");
  return { kind: "failed", why, message: code === undefined ? `${textByWhy[why]}.` : `${textByWhy[why]} (${code}).` };
}
