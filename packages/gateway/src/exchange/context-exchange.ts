import type { Provider, Reply } from "palimpsest/internal/context/provider-formats";
import type { Summarizer } from "palimpsest/internal/context/summarizer";
import { isObject, type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import { HeldHistories } from "../conversation/held-history.ts";
import type { Conversations, FoundRequest, OpenConversation } from "../conversation/conversations.ts";
import type { PreparedBody, Recording } from "../conversation/gateway-conversation.ts";
import { ownCallsMax, plainerTriesMax } from "../conversation/limits.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import type { RelayFailure, RelayOptions, ReplyEnd } from "../reply/relay.ts";
import { StreamRelay } from "../reply/stream-relay.ts";
import { usageChange } from "../reply/usage.ts";
import { WholeRelay } from "../reply/whole-relay.ts";
import { askForPlainReply, forwardHeaders, type Headers } from "../upstream/headers.ts";
import type { Upstream, UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest, Exchange } from "./exchange.ts";
import { heldErrorBytesMax } from "./limits.ts";
import { passThrough } from "./pass-through.ts";
import { heldExchange } from "./held-exchange.ts";
import { ResponseIds } from "./response-ids.ts";
import { ExchangeAccount } from "./exchange-account.ts";

export interface ContextExchangeDeps {
  readonly upstream: Upstream;
  readonly conversations: Conversations;
  readonly onEvent: GatewayListener;
  readonly options: () => ExchangeOptions;
}

export interface ExchangeOptions {
  /** Who writes summaries: nobody (they are made from the messages), or the conversation's model at the client's cost. */
  readonly summarizer: "none" | "own";
  /** Which usage the client is told: see `UsageReport`. */
  readonly usage: "used" | "sent";
  /** Message threads of the Messages API: `keep` holds their histories here; `refuse` makes the SDK send whole lists. */
  readonly threads: "keep" | "refuse";
}

/**
 * Requests pass through the context of their conversation, and replies back as they are.
 *
 *   read ──▶ find ──▶ prepare ──▶ send ──2xx──▶ relay ──▶ done
 *                                  ▲  │            └─own calls─▶ answer ─┐
 *                                  │  └─400, 413─▶ plainer ──────────────┤
 *                                  └─────────────────────────────────────┘
 *
 * Whatever fails of ours before the first byte has gone to the client: the client's own request is sent instead.
 */
export function contextExchange(deps: ContextExchangeDeps): Exchange {
  const histories = new HeldHistories();
  const exchange = wholeExchange({ ...deps, onJoined: (user, ids) => histories.joined(user, ids) });
  return heldExchange({ ...deps, histories, threads: () => deps.options().threads }, exchange);
}

interface WholeExchangeDeps extends ContextExchangeDeps {
  /** A reply of the Responses API was made of several: its id, and that of the last one. */
  readonly onJoined: (user: string, ids: { readonly first: string; readonly last: string }) => void;
}

const wholeExchange =
  (deps: WholeExchangeDeps): Exchange =>
  async (request, reply) => {
    const found = findConversation(deps, request);
    if (found === undefined) {
      await passThrough(deps.upstream, { request: { ...request, body: [request.body] }, reply });
      return;
    }
    const { open } = found;
    open.running += 1;
    try {
      await new RunningExchange(deps, { request, reply, open }).run(found);
    } finally {
      open.running -= 1;
    }
  };

/** Undefined if the request is to be passed on as it is. */
function findConversation(deps: ContextExchangeDeps, request: ClientRequest): FoundRequest | undefined {
  const { user, project, provider, headers, body, operation } = request;
  if (operation === "compact" || (operation === "count" && deps.options().usage === "sent")) return undefined;
  try {
    return deps.conversations.find({
      user,
      project,
      provider,
      headers,
      bytes: body,
      unknown: operation === "create" ? "begin" : "ignore",
      summarizer: deps.options().summarizer === "own" ? ownSummarizer(deps.upstream, request) : undefined,
    });
  } catch (error) {
    deps.onEvent({ kind: "failed-open", user, step: "recognise", message: describeError(error) });
    return undefined;
  }
}

interface ExchangeInput {
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  readonly open: OpenConversation;
}

class RunningExchange {
  readonly #deps: WholeExchangeDeps;
  readonly #request: ClientRequest;
  readonly #reply: ClientReply;
  readonly #open: OpenConversation;
  readonly #account: ExchangeAccount;
  readonly #ids: ResponseIds;
  #recording: Recording | undefined;

  constructor(deps: WholeExchangeDeps, { request, reply, open }: ExchangeInput) {
    this.#deps = deps;
    this.#request = request;
    this.#reply = reply;
    this.#open = open;
    this.#ids = new ResponseIds((ids) => deps.onJoined(request.user, ids));
    this.#account = new ExchangeAccount({
      open,
      bytes: request.body.byteLength,
      user: request.user,
      onEvent: deps.onEvent,
    });
  }

  async run({ body, previous }: FoundRequest): Promise<void> {
    const { signal } = this.#request;
    const { conversation } = this.#open;
    let prepared: PreparedBody;
    try {
      prepared = await conversation.prepare({ body, previous, signal });
    } catch (error) {
      if (signal.aborted) return;
      await this.#failOpen("prepare", error);
      return;
    }
    this.#deps.conversations.asked(this.#open);
    const outcome = await this.#sendPlainer(prepared);
    if (outcome === undefined) return;
    if (outcome.status < 200 || outcome.status >= 300 || this.#request.operation === "count") await this.#pass(outcome);
    else if (isStream(outcome)) await this.#relayStream(outcome);
    else await this.#relayWhole(outcome);
  }

  /** A request that is refused for what it holds is made plainer. Undefined: the client has its answer. */
  async #sendPlainer(first: PreparedBody): Promise<UpstreamReply | undefined> {
    const { conversation } = this.#open;
    let prepared = first;
    for (let tries = 0; ; tries += 1) {
      const outcome = await this.#send(prepared);
      if (outcome.kind === "failed") {
        await this.#sendFailure(outcome);
        return undefined;
      }
      if ((outcome.status !== 400 && outcome.status !== 413) || tries >= plainerTriesMax) return outcome;
      const text = await readText(outcome);
      const held = { ...outcome, body: repeat(text) };
      if (text === undefined) return held;
      try {
        const body = tryParseJson(text.toString("utf8")) ?? text.toString("utf8");
        if (!(await conversation.refused({ status: outcome.status, body }))) return held;
        prepared = await conversation.next(this.#request.signal);
      } catch (error) {
        this.#tellFailure("refused", error);
        return held;
      }
    }
  }

  async #send(prepared: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal } = this.#request;
    this.#account.sent(prepared);
    return await this.#deps.upstream.send({
      provider,
      method,
      path,
      headers: requestHeaders(this.#request, prepared),
      body: prepared.bytes,
      signal,
    });
  }

  async #relayStream(first: UpstreamReply): Promise<void> {
    const relay = new StreamRelay(this.#relayOptions());
    this.#reply.head(first.status, first.headers);
    let current: UpstreamReply | undefined = first;
    for (let calls = 0; current !== undefined; calls += 1) {
      this.#recording = await this.#startRecording();
      try {
        for await (const chunk of current.body) await this.#write(relay.take(chunk));
      } catch {
        this.#recording?.leave();
        this.#reply.destroy();
        return;
      }
      const { out, end } = relay.end();
      await this.#write(out);
      this.#recording?.leave();
      const next = await this.#continue(end, calls);
      if (next.kind === "failed") {
        await this.#write([relay.fail(next.error)]);
        break;
      }
      if (next.kind === "next") relay.continue();
      current = next.kind === "next" ? next.reply : undefined;
    }
    await this.#reply.end();
    void this.#account.replied(this.#recording?.done);
  }

  async #relayWhole(first: UpstreamReply): Promise<void> {
    let whole: JsonObject | undefined;
    const relay = new WholeRelay({
      ...this.#relayOptions(),
      onEvent: (event) => {
        this.#ids.note(event);
        whole = event;
      },
    });
    let current = first;
    for (let calls = 0; ; calls += 1) {
      const bytes = await readText(current);
      if (bytes === undefined) {
        if (this.#reply.hasBegun) this.#reply.destroy();
        else await this.#sendFailure({ kind: "failed", why: "reset", message: "The upstream closed the connection." });
        return;
      }
      whole = undefined;
      const { out, end } = relay.take(bytes);
      if (whole !== undefined) await this.#open.conversation.recordWhole(whole);
      const next = out === undefined || end.kind === "own-calls" ? await this.#continue(end, calls) : done;
      if (next.kind === "next") {
        current = next.reply;
        continue;
      }
      if (next.kind === "failed" && out === undefined) {
        await sendError(this.#reply, { provider: this.#request.provider, error: "bug", message: next.error.message });
        return;
      }
      this.#reply.head(current.status, { ...current.headers, "content-length": String((out ?? bytes).byteLength) });
      await this.#reply.write(out ?? bytes);
      await this.#reply.end();
      void this.#account.replied(undefined);
      return;
    }
  }

  /** Answers own calls. `next`: the client's reply goes on with this one. */
  async #continue(end: ReplyEnd, calls: number): Promise<Continued> {
    if (end.kind !== "own-calls") return done;
    const { conversation } = this.#open;
    try {
      await this.#recording?.done;
      await conversation.answer(end.calls);
      if (end.client === "complete") return done;
      if (calls >= ownCallsMax)
        return failed(`The model called tools of the gateway ${ownCallsMax} times in one reply.`);
      const outcome = await this.#sendPlainer(await conversation.next(this.#request.signal));
      if (outcome === undefined) return failed("The upstream did not answer the next request.");
      if (outcome.status >= 200 && outcome.status < 300) return { kind: "next", reply: outcome };
      const text = await readText(outcome);
      return failed(text?.toString("utf8") ?? `The upstream answered with ${outcome.status}.`);
    } catch (error) {
      this.#tellFailure("answer", error);
      return end.client === "complete" ? done : failed("A call of the gateway's own tool could not be answered.");
    }
  }

  async #startRecording(): Promise<Recording | undefined> {
    try {
      return await this.#open.conversation.record();
    } catch (error) {
      this.#tellFailure("record", error);
      return undefined;
    }
  }

  #relayOptions(): RelayOptions {
    const { provider } = this.#request;
    const report =
      this.#deps.options().usage === "used"
        ? ({ kind: "used" } as const)
        : ({ kind: "sent", moreTokens: () => this.#account.moreTokens } as const);
    return {
      provider,
      ownTools: this.#open.conversation.ownToolNames,
      usage: usageChange(provider, report),
      onEvent: (event) => {
        this.#ids.note(event);
        this.#recording?.put(event);
      },
    };
  }

  async #write(chunks: readonly Uint8Array[]): Promise<void> {
    const [first] = chunks;
    if (first !== undefined) await this.#reply.write(chunks.length === 1 ? first : Buffer.concat(chunks));
  }

  async #pass(outcome: UpstreamReply): Promise<void> {
    this.#reply.head(outcome.status, outcome.headers);
    try {
      for await (const chunk of outcome.body) await this.#reply.write(chunk);
    } catch {
      this.#reply.destroy();
      return;
    }
    await this.#reply.end();
  }

  async #sendFailure(failure: UpstreamFailure): Promise<void> {
    if (!this.#reply.hasBegun) await sendError(this.#reply, failureReply(this.#request.provider, failure));
  }

  async #failOpen(step: string, error: unknown): Promise<void> {
    this.#tellFailure(step, error);
    const request = { ...this.#request, body: [this.#request.body] };
    await passThrough(this.#deps.upstream, { request, reply: this.#reply });
  }

  #tellFailure(step: string, error: unknown): void {
    this.#deps.onEvent({ kind: "failed-open", user: this.#request.user, step, message: describeError(error) });
  }
}

type Continued =
  | { readonly kind: "done" }
  | { readonly kind: "next"; readonly reply: UpstreamReply }
  | { readonly kind: "failed"; readonly error: RelayFailure };

const done: Continued = { kind: "done" };
const failed = (message: string): Continued => ({ kind: "failed", error: { type: "api_error", message } });

function requestHeaders({ headers }: ClientRequest, { betas }: PreparedBody): Headers {
  const forwarded = askForPlainReply(forwardHeaders(headers));
  if (betas.length === 0) return forwarded;
  const given = [forwarded["anthropic-beta"] ?? []]
    .flat()
    .flatMap((value) => value.split(",").map((one) => one.trim()));
  return { ...forwarded, "anthropic-beta": [...new Set([...given, ...betas])].filter((one) => one !== "").join(",") };
}

const isStream = ({ headers }: UpstreamReply): boolean =>
  String(headers["content-type"] ?? "").includes("event-stream");

/** Undefined if it breaks off or is too large. */
async function readText({ body }: UpstreamReply): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes > heldErrorBytesMax) return undefined;
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

async function* repeat(text: Buffer | undefined): AsyncGenerator<Uint8Array> {
  if (text !== undefined) yield text;
}

/** Must not hold what the client sent. */
const describeError = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : "unknown";

/** Asks the same upstream, with the credentials of the request that made the summary necessary. */
const ownSummarizer =
  (upstream: Upstream, { provider, method, path, headers }: ClientRequest): Summarizer<Provider> =>
  async ({ params, signal }) => {
    const body = Buffer.from(JSON.stringify(params));
    const outcome = await upstream.send({
      provider,
      method,
      path,
      headers: askForPlainReply(forwardHeaders(headers)),
      body: [body],
      signal,
    });
    if (outcome.kind === "failed") throw new Error(outcome.message);
    const text = await readText(outcome);
    const reply = text === undefined ? undefined : tryParseJson(text.toString("utf8"));
    if (outcome.status >= 300 || !isObject(reply))
      throw Object.assign(new Error(`The upstream answered with ${outcome.status}.`), {
        status: outcome.status,
        error: reply,
      });
    // The context checks its form.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return reply as unknown as Reply<Provider>;
  };
