import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import { StreamBroken } from "../answer.ts";
import { type Connection, toByteStream } from "../http/event-body.ts";
import { createInProcessFetch } from "../http/simulator-fetch.ts";
import { recordedBodyBytesMax } from "../limits.ts";
import { errorBody, refusal } from "../refusal.ts";
import { type RecordableRequest, readRecordableRequest } from "./request-key.ts";
import { type Chunk, responseParts } from "./request-content.ts";
import { Credentials, upstreamRequestHeaders, clientResponseHeaders, pickResponseHeaders } from "./credentials.ts";
import { prepareCassetteFolder, writeCassette } from "./read-cassette-folder.ts";
import type { Cassette, CassetteEnd } from "./cassette.ts";
import { createMasker, maskParts } from "./masker.ts";
import { serveRequests, type ServeOptions, type ServeOutcome } from "../http/serve-simulator.ts";
import type { CassettePlayer } from "./cassette-player.ts";

export interface RecorderOptions {
  /** Created if it does not exist. Existing cassettes stay; new ones get the next numbers. */
  readonly folder: string;
  /** Base URL that all requests go to. If it is absent, each goes to the address that it names. */
  readonly upstream?: string;
  readonly fetch?: typeof fetch;
  readonly mask?: MaskText;
  /** Called for an exchange that could not be kept; its client got its answer all the same. */
  readonly onLost?: (message: string) => void;
}

/** Base URL that all requests go to. */
interface Upstream {
  readonly upstream: string;
}

/**
 * Passes requests on and keeps each exchange as one cassette, written when it has ended:
 *
 *   whole          the upstream sent everything
 *   aborted        the client left
 *   broken         the upstream ended the connection in the middle
 *   unreachable    the upstream did not answer; the client got a 502
 *
 * A response ends for the client only when its cassette is on disk: if the process is killed then, nothing is lost.
 */
export class CassetteRecorder {
  readonly upstream: string | undefined;
  readonly #options: Required<Omit<RecorderOptions, "upstream">>;
  readonly #open = new Set<Promise<void>>();
  readonly #credentials = new Credentials();
  #next: number;

  private constructor(options: RecorderOptions, next: number) {
    this.#options = { fetch: globalThis.fetch, mask: maskSecrets, onLost: () => {}, ...options };
    this.upstream = options.upstream;
    this.#next = next;
  }

  /** Rejects if the operating system refuses the folder. */
  static open(options: RecorderOptions & Upstream): Promise<CassetteRecorder & Upstream>;
  static open(options: RecorderOptions): Promise<CassetteRecorder>;
  static async open(options: RecorderOptions): Promise<CassetteRecorder> {
    return new CassetteRecorder(options, await prepareCassetteFolder(options.folder));
  }

  /** For clients in this process: `new Anthropic({ fetch: recorder.fetch })`. */
  readonly fetch: typeof fetch = createInProcessFetch((request) => this.answer(request));

  readonly answer = async (request: Request, connection: Connection = {}): Promise<Response> => {
    const exchange = this.#begin();
    try {
      return await this.#exchange({ request, connection, exchange });
    } catch (error) {
      exchange.done();
      throw error;
    }
  };

  /** Resolves when no exchange is in progress and all cassettes are on disk. */
  async idle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #exchange({
    request,
    connection,
    exchange,
  }: {
    readonly request: Request;
    readonly connection: Connection;
    readonly exchange: RecordedExchange;
  }): Promise<Response> {
    const { mask } = this.#options;
    const requestCredentials = this.#credentials.seenWith(request.headers);
    const recordable = await readRecordableRequest({ request, connection, mask, credentials: requestCredentials });
    if (recordable.kind === "too-large") {
      exchange.done();
      return tooLargeResponse();
    }
    const stop = new AbortController();
    const signal = AbortSignal.any([request.signal, stop.signal]);
    const response = await this.#askUpstream({ request, recordable, signal });
    const responseCredentials = response instanceof Unanswered ? [] : this.#credentials.seenWith(response.headers);
    const credentials = [...new Set([...requestCredentials, ...responseCredentials])];
    const keep = (record: ResponseRecord): Promise<void> =>
      this.#keep({ recordable, exchange, credentials, ...record });
    if (response instanceof Unanswered) {
      if (signal.aborted) {
        await keep({ response: undefined, chunks: [], atMillis: 0, end: "aborted" });
        throw response;
      }
      const answer = unreachableResponse(this.upstream ?? new URL(request.url).origin, response);
      const atMillis = exchange.millis();
      await keep({
        response: answer,
        chunks: [{ atMillis, bytes: await answer.clone().bytes() }],
        atMillis,
        end: "unreachable",
      });
      return answer;
    }
    const passing = passThrough({ response, keep, exchange, signal });
    const leave = async (read: "some" | "nothing"): Promise<void> => {
      // A wait for the upstream learns only through this signal that the client has left.
      stop.abort();
      if (read === "nothing") await keep({ response, chunks: [], atMillis: exchange.millis(), end: "aborted" });
    };
    const parts = { [Symbol.asyncIterator]: () => stoppable(passing, leave) };
    const headers = clientResponseHeaders(response.headers);
    const { status, statusText } = response;
    if (isBodiless(response, request)) {
      await keep({ response, chunks: [], atMillis: exchange.millis(), end: "whole" });
      return new Response(null, { status, statusText, headers });
    }
    // Keeps the server from collecting the first events to compute a length.
    headers.set("transfer-encoding", "chunked");
    return new Response(toByteStream(parts, { connection, bytesOf: (bytes) => bytes }), {
      status,
      statusText,
      headers,
    });
  }

  async #askUpstream({
    request,
    recordable,
    signal,
  }: {
    readonly request: Request;
    readonly recordable: RecordableRequest;
    readonly signal: AbortSignal;
  }): Promise<Response | Unanswered> {
    const { pathname, search } = new URL(request.url);
    const { upstream } = this;
    const url = upstream === undefined ? request.url : upstreamUrl(upstream, `${pathname}${search}`);
    try {
      return await this.#options.fetch(url, {
        method: request.method,
        headers: upstreamRequestHeaders(request.headers),
        body: recordable.bytes.length === 0 ? null : Buffer.from(recordable.bytes),
        redirect: "manual",
        signal,
      });
    } catch (error) {
      return new Unanswered(error);
    }
  }

  #begin(): RecordedExchange {
    const startedAt = performance.now();
    const number = this.#next;
    this.#next += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    const open = promise.finally(() => this.#open.delete(open));
    this.#open.add(open);
    return { number, done: resolve, millis: () => Math.round(performance.now() - startedAt) };
  }

  /** Must not reject: what cannot be kept is reported, and the client gets its answer. */
  async #keep({
    recordable,
    exchange,
    credentials,
    response,
    chunks,
    atMillis,
    end,
  }: ResponseRecord & KeepInput): Promise<void> {
    const { folder, mask, onLost } = this.#options;
    const what = `${recordable.recorded.method} ${recordable.recorded.path}`;
    try {
      const size = chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
      if (size > recordedBodyBytesMax) return onLost(`${what} was answered with more than is kept`);
      const masker = createMasker({ mask, credentials });
      const head = response && { atMillis, status: response.status, headers: pickResponseHeaders(response.headers) };
      const parts = maskParts(responseParts(chunks, response?.headers.get("content-type") ?? ""), masker);
      const ending: CassetteEnd = { atMillis: exchange.millis(), end };
      const cassette: Cassette = { request: recordable.recorded, response: head, parts, ending };
      await writeCassette({ folder, number: exchange.number, cassette });
    } catch (error) {
      onLost(`${what} could not be kept: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      exchange.done();
    }
  }
}

interface RecordedExchange {
  readonly number: number;
  readonly done: () => void;
  /** Milliseconds since it began. */
  readonly millis: () => number;
}

interface KeepInput {
  readonly recordable: RecordableRequest;
  readonly exchange: RecordedExchange;
  /** Secrets of request and response, and those seen before. */
  readonly credentials: readonly string[];
}

interface ResponseRecord {
  readonly response: Response | undefined;
  readonly chunks: readonly Chunk[];
  /** When the response began. */
  readonly atMillis: number;
  readonly end: CassetteEnd["end"];
}

interface PassThroughInput {
  readonly response: Response;
  readonly keep: (record: ResponseRecord) => Promise<void>;
  readonly exchange: RecordedExchange;
  readonly signal: AbortSignal;
}

/** The body as it comes. If it is larger than what is kept, only that much stays in memory. */
async function* passThrough({ response, keep, exchange, signal }: PassThroughInput): AsyncGenerator<Uint8Array> {
  const atMillis = exchange.millis();
  const chunks: Chunk[] = [];
  let size = 0;
  let end: CassetteEnd["end"] = "aborted";
  try {
    const body: AsyncIterable<Uint8Array> | null = response.body;
    for await (const bytes of body ?? []) {
      if (size <= recordedBodyBytesMax) chunks.push({ atMillis: exchange.millis(), bytes });
      size += bytes.length;
      yield bytes;
    }
    end = "whole";
  } catch {
    end = signal.aborted ? "aborted" : "broken";
    throw new StreamBroken();
  } finally {
    await keep({ response, chunks, atMillis, end });
  }
}

/** A generator that was never started does nothing when it is ended, so `leave` is told how far it came. */
function stoppable(
  passing: AsyncGenerator<Uint8Array>,
  leave: (read: "some" | "nothing") => Promise<void>,
): AsyncIterator<Uint8Array, unknown, undefined> {
  let read: "some" | "nothing" = "nothing";
  return {
    next: () => {
      read = "some";
      return passing.next();
    },
    return: async () => {
      await leave(read);
      return passing.return(undefined);
    },
  };
}

/** Some base URLs end with `/v1`, as OpenAI's clients want it, and some do not: the result has it once either way. */
function upstreamUrl(upstream: string, path: string): string {
  const base = upstream.replace(/\/+$/, "");
  return `${path.startsWith("/v1/") ? base.replace(/\/v1$/, "") : base}${path}`;
}

const isBodiless = ({ status, body }: Response, { method }: Request): boolean =>
  body === null || method === "HEAD" || [204, 205, 304].includes(status);

/** `fetch` gave no response; holds what it threw. */
class Unanswered extends Error {
  constructor(cause: unknown) {
    super("the upstream gave no answer", { cause });
    this.name = "Unanswered";
  }
}

function unreachableResponse(upstream: string, { cause }: Unanswered): Response {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  const why = inner instanceof Error && "code" in inner ? String(inner.code) : String(inner);
  const message = `The upstream ${upstream} gave no answer (${why}). Check the address that --upstream names and the network, then try again.`;
  return errorResponse(refusal("api_error", message, { status: 502 }));
}

const tooLargeResponse = (): Response =>
  errorResponse(refusal("request_too_large", `The recorder passes on at most ${recordedBodyBytesMax} bytes`));

const errorResponse = (refused: ReturnType<typeof refusal>): Response =>
  Response.json(errorBody(refused, null), { status: refused.status });

/**
 * Closing it ends the exchanges in progress, and waits until they are on disk too. The upstream is required: requests
 * name this server's own address, so a recorder without one would call itself.
 */
export async function serveRecorder(
  recorder: CassetteRecorder & Upstream,
  options: ServeOptions,
): Promise<ServeOutcome> {
  const serving = await serveRequests(recorder.answer, options);
  if (serving.kind === "failed") return serving;
  const close = async (): Promise<void> => {
    await serving.close();
    await recorder.idle();
  };
  return { ...serving, close };
}

export const servePlayer = (player: CassettePlayer, options: ServeOptions): Promise<ServeOutcome> =>
  serveRequests(player.answer, options);
