import { isObject, type JsonObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import { raceAbort } from "palimpsest/internal/schema/race-abort";
import type { RequestBody } from "../body/request-body.ts";
import { HeldHistories } from "../conversation/held-history.ts";
import type { HeldLog } from "../conversation/held-log.ts";
import type { Conversations, FoundRequest, OpenConversation } from "../conversation/conversations.ts";
import type { PreparedBody } from "../conversation/gateway-conversation.ts";
import { ownCallsMax, plainerTriesMax, prepareMsMax, prepareWithSummaryMsMax } from "../conversation/limits.ts";
import type { Recording } from "../conversation/recording.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import type { RelayFailure, RelayOptions, ReplyEnd } from "../reply/relay.ts";
import { StreamRelay } from "../reply/stream-relay.ts";
import { usageChange } from "../reply/usage.ts";
import { WholeRelay } from "../reply/whole-relay.ts";
import { askForPlainReply, forwardHeaders, type Headers } from "../upstream/headers.ts";
import type { Upstream, UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest, Exchange } from "./exchange.ts";
import { holdReply } from "./held-reply.ts";
import { errorBytesMax, wholeReplyBytesMax } from "./limits.ts";
import { ownSummarizer } from "./own-summarizer.ts";
import { passThrough } from "./pass-through.ts";
import { heldExchange } from "./held-exchange.ts";
import { ResponseIds } from "./response-ids.ts";
import { ExchangeAccount } from "./exchange-account.ts";

export interface ContextExchangeDeps {
  readonly upstream: Upstream;
  readonly conversations: Conversations;
  /** Absent: histories of clients that send only what is new are lost at a restart. */
  readonly heldLog?: HeldLog | undefined;
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
 * Whatever fails of ours, the client's own request is sent instead: also in the middle of a reply, when an own call can't be
 * answered, because nothing else ends the client's message. Its reply is not recorded; the client's next list brings it.
 */
export function contextExchange(deps: ContextExchangeDeps): Exchange {
  const histories = new HeldHistories(deps.heldLog);
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
      await new RunningExchange(deps, { request, reply, found }).run();
    } finally {
      open.running -= 1;
    }
  };

/** Undefined if the request is to be passed on as it is. */
function findConversation(deps: ContextExchangeDeps, request: ClientRequest): FoundRequest | undefined {
  const { user, project, provider, headers, body, operation } = request;
  if (operation === "compact" || (operation === "count" && deps.options().usage === "sent")) return undefined;
  try {
    const found = deps.conversations.find({
      user,
      project,
      provider,
      headers,
      bytes: body,
      unknown: operation === "create" ? "begin" : "ignore",
      summarizer: deps.options().summarizer === "own" ? ownSummarizer(deps.upstream, request) : undefined,
    });
    // What is counted while a reply comes must not take the conversation from it.
    return operation === "count" && found !== undefined && found.open.running > 0 ? undefined : found;
  } catch (error) {
    deps.onEvent({ kind: "failed-open", user, step: "recognise", message: describeError(error) });
    return undefined;
  }
}

interface ExchangeInput {
  readonly request: ClientRequest;
  readonly reply: ClientReply;
  readonly found: FoundRequest;
}

class RunningExchange {
  readonly #deps: WholeExchangeDeps;
  readonly #request: ClientRequest;
  readonly #reply: ClientReply;
  readonly #found: FoundRequest;
  readonly #open: OpenConversation;
  readonly #body: RequestBody;
  readonly #account: ExchangeAccount;
  readonly #ids: ResponseIds;
  #recording: Recording | undefined;
  /** Not the replies to the client's own request: the context has not asked for them. */
  #isRecorded = true;

  constructor(deps: WholeExchangeDeps, { request, reply, found }: ExchangeInput) {
    this.#deps = deps;
    this.#request = request;
    this.#reply = reply;
    this.#found = found;
    this.#open = found.open;
    this.#body = found.body;
    this.#ids = new ResponseIds((ids) => deps.onJoined(request.user, ids));
    this.#account = new ExchangeAccount({
      open: found.open,
      bytes: request.body.byteLength,
      user: request.user,
      onEvent: deps.onEvent,
    });
  }

  async run(): Promise<void> {
    let prepared: PreparedBody;
    try {
      prepared = await this.#prepare();
    } catch (error) {
      if (this.#request.signal.aborted) return;
      this.#tellFailure("prepare", error);
      const request = { ...this.#request, body: [this.#request.body] };
      await passThrough(this.#deps.upstream, { request, reply: this.#reply });
      return;
    }
    this.#deps.conversations.asked(this.#open);
    const outcome = await this.#sendPlainer(prepared);
    if (outcome.kind === "failed") await this.#sendFailure(outcome);
    else if (!isGood(outcome) || this.#request.operation === "count") await this.#pass(outcome);
    else if (isStream(outcome)) await this.#relayStream(outcome);
    else await this.#relayWhole(outcome);
  }

  async #prepare(): Promise<PreparedBody> {
    const { body, previous, begun } = this.#found;
    const ms = this.#deps.options().summarizer === "own" ? prepareWithSummaryMsMax : prepareMsMax;
    const signal = AbortSignal.any([this.#request.signal, AbortSignal.timeout(ms)]);
    await begun;
    const prepared = this.#open.conversation.prepare({ body, previous, signal });
    return await raceAbort(prepared, {
      signal,
      instead: () => {
        throw new Error("it took too long");
      },
    });
  }

  /** A request that is refused for what it holds is made plainer; at last the client's own is sent. */
  async #sendPlainer(first: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { conversation } = this.#open;
    let prepared = first;
    for (let tries = 0; ; tries += 1) {
      const outcome = await this.#send(prepared);
      if (outcome.kind === "failed" || (outcome.status !== 400 && outcome.status !== 413)) return outcome;
      const { bytes, reply } = await holdReply(outcome, errorBytesMax);
      if (bytes === undefined) return reply;
      const isOwn = prepared.bytes.length === 1 && prepared.bytes[0] === this.#request.body;
      try {
        const error = { status: outcome.status, body: tryParseJson(bytes.toString("utf8")) ?? bytes.toString("utf8") };
        const isPlainer = tries < plainerTriesMax && (await conversation.refused(this.#body, error));
        if (!isPlainer) return isOwn ? reply : await this.#sendOwn("refused", new Error(`status ${outcome.status}`));
        prepared = await conversation.next(this.#body, this.#request.signal);
      } catch (error) {
        return isOwn ? reply : await this.#sendOwn("refused", error);
      }
    }
  }

  async #send(prepared: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal } = this.#request;
    this.#account.sent(prepared);
    const headers = requestHeaders(this.#request, prepared.betas);
    return await this.#deps.upstream.send({ provider, method, path, headers, body: prepared.bytes, signal });
  }

  /** The client's own request, unchanged. */
  async #sendOwn(step: string, error: unknown): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal, body } = this.#request;
    if (!signal.aborted) this.#tellFailure(step, error);
    this.#isRecorded = false;
    this.#account.sentOwn();
    const headers = requestHeaders(this.#request, []);
    return await this.#deps.upstream.send({ provider, method, path, headers, body: [body], signal });
  }

  async #relayStream(first: UpstreamReply): Promise<void> {
    const relay = new StreamRelay(this.#relayOptions());
    const { "content-length": _length, ...headers } = first.headers;
    this.#reply.head(first.status, headers);
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
      if (next?.kind === "failed") await this.#write([relay.fail({ type: "api_error", message: next.message })]);
      else if (next !== undefined && !isGood(next)) await this.#write([relay.fail(await readError(next))]);
      current = next?.kind === "reply" && isGood(next) ? next : undefined;
      if (current !== undefined) relay.continue();
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
    let current: UpstreamReply | UpstreamFailure = first;
    for (let calls = 0; ; calls += 1) {
      if (current.kind === "failed") return await this.#sendFailure(current);
      if (!isGood(current)) return await this.#pass(current);
      const { bytes, flaw, reply } = await holdReply(current, wholeReplyBytesMax);
      if (flaw === "broken") return await this.#sendFailure(brokenOff);
      if (bytes === undefined) return await this.#pass(reply);
      whole = undefined;
      const { out = bytes, end } = relay.take(bytes);
      if (whole !== undefined) await this.#recordWhole(whole);
      const next = await this.#continue(end, calls);
      if (next !== undefined) {
        current = next;
        continue;
      }
      this.#reply.head(current.status, { ...current.headers, "content-length": String(out.byteLength) });
      await this.#reply.write(out);
      await this.#reply.end();
      void this.#account.replied(undefined);
      return;
    }
  }

  /** Answers own calls. Undefined: the client has its whole reply; else its reply goes on with this one. */
  async #continue(end: ReplyEnd, calls: number): Promise<UpstreamReply | UpstreamFailure | undefined> {
    if (end.kind !== "own-calls") return undefined;
    const { conversation } = this.#open;
    let prepared: PreparedBody | undefined;
    try {
      await this.#recording?.done;
      await conversation.answer(this.#body, end.calls);
      if (end.client === "complete") return undefined;
      if (calls >= ownCallsMax) throw new Error(`tools of the gateway were called ${ownCallsMax} times in one reply`);
      prepared = await conversation.next(this.#body, this.#request.signal);
    } catch (error) {
      if (end.client !== "complete") return await this.#sendOwn("answer", error);
      this.#tellFailure("answer", error);
      return undefined;
    }
    return await this.#sendPlainer(prepared);
  }

  async #startRecording(): Promise<Recording | undefined> {
    if (!this.#isRecorded) return undefined;
    const tell = (error: unknown): void => this.#tellFailure("record", error);
    try {
      return await this.#open.conversation.record(this.#body, tell);
    } catch (error) {
      tell(error);
      return undefined;
    }
  }

  async #recordWhole(reply: JsonObject): Promise<void> {
    try {
      if (this.#isRecorded) await this.#open.conversation.recordWhole(this.#body, reply);
    } catch (error) {
      this.#tellFailure("record", error);
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

  #tellFailure(step: string, error: unknown): void {
    this.#deps.onEvent({ kind: "failed-open", user: this.#request.user, step, message: describeError(error) });
  }
}

function requestHeaders({ headers }: ClientRequest, betas: readonly string[]): Headers {
  const forwarded = askForPlainReply(forwardHeaders(headers));
  if (betas.length === 0) return forwarded;
  const given = [forwarded["anthropic-beta"] ?? []]
    .flat()
    .flatMap((value) => value.split(",").map((one) => one.trim()));
  return { ...forwarded, "anthropic-beta": [...new Set([...given, ...betas])].filter((one) => one !== "").join(",") };
}

const isStream = ({ headers }: UpstreamReply): boolean =>
  String(headers["content-type"] ?? "").includes("event-stream");

const isGood = ({ status }: UpstreamReply): boolean => status >= 200 && status < 300;

const brokenOff: UpstreamFailure = { kind: "failed", why: "reset", message: "The upstream closed the connection." };

/** What an error of the upstream says, for a client that has a part of its reply already. */
async function readError(outcome: UpstreamReply): Promise<RelayFailure> {
  const { bytes } = await holdReply(outcome, errorBytesMax);
  const body = bytes === undefined ? undefined : tryParseJson(bytes.toString("utf8"));
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  return {
    type: textField(error, "type") ?? "api_error",
    message: textField(error, "message") ?? `The upstream answered with ${outcome.status}.`,
  };
}

/** Must not hold what the client sent. */
const describeError = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : "unknown";
