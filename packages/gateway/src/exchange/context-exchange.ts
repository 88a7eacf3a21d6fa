import { type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import { raceAbort } from "palimpsest/internal/schema/race-abort";
import type { RequestBody } from "../body/request-body.ts";
import { StoredHistories } from "../conversation/stored-histories.ts";
import type { HistoryLog } from "../conversation/history-log.ts";
import type { Conversations, MatchedRequest, ActiveConversation } from "../conversation/conversations.ts";
import type { PreparedBody } from "../conversation/live-request.ts";
import { type Addition, findNamed } from "../conversation/refused-additions.ts";
import { GatewayFailure } from "../conversation/gateway-failure.ts";
import { gatewayCallsMax, refusalRetriesMax } from "../conversation/limits.ts";
import type { Recording } from "../conversation/recording.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import type { RelayOptions, ReplyEnd } from "../reply/relay.ts";
import { StreamRelay } from "../reply/stream-relay.ts";
import { usageChange } from "../reply/usage.ts";
import { WholeRelay } from "../reply/whole-relay.ts";
import { addBetas, forwardHeaders, isStream } from "../upstream/headers.ts";
import { plainUpstream } from "../upstream/plain-upstream.ts";
import type { Upstream, UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { type ChargedPassDeps, passCharged, refuseUnpriced } from "./charged-pass.ts";
import { describeError } from "./describe-error.ts";
import { brokenOff, failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest, Exchange, ExchangeOptions } from "./exchange.ts";
import { findConversation } from "./find-conversation.ts";
import { observeShared } from "./observed-reply.ts";
import { passCounted } from "./pass-counted.ts";
import { passReply } from "./pass-through.ts";
import { bufferReply, isGood, isReadable, isRefused, readError } from "./buffered-reply.ts";
import { errorBytesMax, wholeReplyBytesMax } from "./limits.ts";
import { isClientsMistake } from "./is-clients-mistake.ts";
import { modelSummarizer } from "./model-summarizer.ts";
import { historyExchange } from "./history-exchange.ts";
import { ResponseIds } from "./response-ids.ts";
import { ExchangeMeter } from "./exchange-meter.ts";

export interface ContextExchangeDeps {
  readonly upstream: Upstream;
  readonly conversations: Conversations;
  /** Absent: histories of clients that send only what is new are lost at a restart. */
  readonly historyLog?: HistoryLog | undefined;
  readonly onEvent: GatewayListener;
  readonly options: () => ExchangeOptions;
}

/**
 * Sends each request through its conversation's context and relays the reply unchanged.
 *
 *   read ──▶ find ──▶ prepare ──▶ send ──2xx──▶ relay ──▶ done
 *                                  ▲  │            └─own calls─▶ answer ─┐
 *                                  │  └─400, 413─▶ plainer ──────────────┤
 *                                  └─────────────────────────────────────┘
 *
 * If the gateway fails at any step, it sends the client's original request instead, even in the middle of a reply: only another
 * reply can complete the client's message. That reply is not recorded; the client's next request contains it.
 */
export function contextExchange(deps: ContextExchangeDeps): Exchange {
  const histories = new StoredHistories(deps.historyLog);
  deps.conversations.onForget((user, sessions) => histories.forget(user, sessions));
  const prices = () => deps.options().prices ?? [];
  const plain = { ...deps, prices, upstream: plainUpstream(deps.upstream) };
  const exchange = wholeExchange({ ...plain, onJoined: (user, ids) => histories.linkReplies(user, ids) });
  return historyExchange({ ...plain, histories, threads: () => deps.options().threads }, exchange);
}

interface WholeExchangeDeps extends ContextExchangeDeps, ChargedPassDeps {
  /** A reply of the Responses API was made of several: its id, and that of the last one. */
  readonly onJoined: (user: string, ids: { readonly first: string; readonly last: string }) => void;
}

const wholeExchange =
  (deps: WholeExchangeDeps): Exchange =>
  async (request, reply) => {
    const { conversations } = deps;
    const found = await findConversation(deps, request);
    if (found === undefined) {
      if (!(await passCounted(deps, request, reply))) await passCharged(deps, request, reply);
      return;
    }
    conversations.enter(found);
    request.onConversation?.(found.open.id);
    try {
      const model = found.body.field("model");
      if (await refuseUnpriced(deps, { request, reply, model: typeof model === "string" ? model : undefined })) return;
      await new RunningExchange(deps, { request, reply: observeShared(deps, { request, reply, found }), found }).run();
    } finally {
      conversations.leave(found);
    }
  };

class RunningExchange {
  readonly #deps: WholeExchangeDeps;
  readonly #request: ClientRequest;
  readonly #reply: ClientReply;
  readonly #found: MatchedRequest;
  readonly #open: ActiveConversation;
  readonly #body: RequestBody;
  readonly #meter: ExchangeMeter;
  readonly #ids: ResponseIds;
  #recording: Recording | undefined;
  /** Of this request: a newer one may have others. */
  #gatewayTools: ReadonlySet<string> = new Set();
  /** Not the replies to the client's own request: the context has not asked for them. */
  #isRecorded = true;
  /** Of the request that was sent last. */
  #additions: readonly Addition[] = [];

  constructor(
    deps: WholeExchangeDeps,
    {
      request,
      reply,
      found,
    }: { readonly request: ClientRequest; readonly reply: ClientReply; readonly found: MatchedRequest },
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#reply = reply;
    this.#found = found;
    this.#open = found.open;
    this.#body = found.body;
    this.#ids = new ResponseIds((ids) => deps.onJoined(request.user, ids));
    this.#meter = new ExchangeMeter({
      provider: request.provider,
      open: found.open,
      bytes: request.body.byteLength,
      user: request.user,
      prices: deps.prices(),
      now: Date.now,
      onEvent: deps.onEvent,
    });
  }

  async run(): Promise<void> {
    let prepared: PreparedBody;
    try {
      prepared = await this.#prepare();
    } catch (error) {
      if (this.#request.signal.aborted) return;
      this.#reportFailure("prepare", error);
      await passCharged(this.#deps, this.#request, this.#reply);
      return;
    }
    this.#deps.conversations.countRequest(this.#open, prepared);
    this.#gatewayTools = prepared.gatewayTools;
    const outcome = await this.#sendWithFallbacks(prepared);
    if (outcome.kind === "reply" && isRefused(outcome)) void this.#deps.conversations.discard(this.#found);
    if (outcome.kind === "failed") await this.#sendFailure(outcome);
    else if (!isReadable(outcome)) await this.#pass(outcome);
    else if (isStream(outcome.headers)) await this.#relayStream(outcome);
    else await this.#relayWhole(outcome);
  }

  #prepare(): Promise<PreparedBody> {
    const { body, previous, begun } = this.#found;
    const { files } = this.#request;
    const askModel = modelSummarizer(this.#deps, this.#request);
    return this.#inTime(async (signal) => {
      await begun;
      return await this.#open.conversation.prepare({ body, previous, askModel, files, signal });
    });
  }

  /** For all of ours that the client waits for. `signal`: aborted also when the client has gone. */
  #inTime<Result>(call: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const late = AbortSignal.timeout(this.#open.conversation.turnMsMax);
    return raceAbort(call(AbortSignal.any([this.#request.signal, late])), {
      signal: late,
      instead: () => {
        throw new GatewayFailure("it took too long");
      },
    });
  }

  /** A request that is refused for what it holds is made plainer; at last the client's own is sent. */
  async #sendWithFallbacks(first: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { conversation } = this.#open;
    let prepared = first;
    for (let tries = 0; ; tries += 1) {
      const outcome = await this.#send(prepared);
      if (outcome.kind === "failed" || !refusals.has(outcome.status)) return outcome;
      const { bytes, reply } = await bufferReply(outcome, errorBytesMax);
      if (bytes === undefined) return reply;
      const isOriginal = prepared.changes.length === 0 && prepared.betas.length === 0;
      const text = bytes.toString("utf8");
      const { status } = outcome;
      const named = findNamed(text, this.#additions);
      if (named === undefined && (status === 422 || this.#isClientsMistake({ status, error: text, prepared })))
        return reply;
      try {
        if (named !== undefined) {
          conversation.leaveOut(this.#body, { addition: named, sign: "named" });
          prepared = await this.#inTime((signal) => conversation.next(this.#body, signal));
          continue;
        }
        const error = { status, body: tryParseJson(text) ?? text };
        const canRetry =
          tries < refusalRetriesMax && (await this.#inTime(() => conversation.refused(this.#body, error)));
        if (!canRetry) return isOriginal ? reply : await this.#sendRefused(status, prepared);
        prepared = await this.#inTime((signal) => conversation.next(this.#body, signal));
      } catch (error) {
        return isOriginal ? reply : await this.#failOpen("refused", error);
      }
    }
  }

  #isClientsMistake({
    status,
    error,
    prepared: { changes },
  }: {
    readonly status: number;
    readonly error: string;
    readonly prepared: PreparedBody;
  }): boolean {
    const { provider } = this.#request;
    const hasField = (name: string): boolean => this.#body.field(name) !== undefined;
    return isClientsMistake({ provider, status, error, changes, hasField });
  }

  async #send(prepared: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal } = this.#request;
    this.#meter.sent(prepared);
    this.#additions = prepared.additions;
    const headers = addBetas(forwardHeaders(this.#request.headers), prepared.betas);
    const outcome = await this.#deps.upstream.send({ provider, method, path, headers, body: prepared.bytes, signal });
    return this.#begin(outcome);
  }

  /** A client that goes away before the reply has begun has paid for its request too. */
  #begin(outcome: UpstreamReply | UpstreamFailure): UpstreamReply | UpstreamFailure {
    const isPaid = outcome.kind === "reply" ? isGood(outcome) : outcome.why === "cancelled";
    if (!isPaid) return outcome;
    this.#meter.begin();
    if (outcome.kind === "failed") this.#meter.settle();
    return outcome;
  }

  /** Something of ours failed: the client's own request is sent. */
  async #failOpen(step: string, error: unknown): Promise<UpstreamReply | UpstreamFailure> {
    if (!this.#request.signal.aborted) this.#reportFailure(step, error);
    return await this.#sendOriginal();
  }

  /**
   * If the client's own request is refused too, the mistake is the client's. If it is taken, the upstream does not take one
   * of the additions: one after the other is left out.
   */
  async #sendRefused(status: number, refused: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const outcome = await this.#sendOriginal();
    if (outcome.kind === "reply" && outcome.status !== status)
      this.#reportFailure("refused", new GatewayFailure(`status ${status}`));
    const [suspect] = refused.untouched && outcome.kind === "reply" && isGood(outcome) ? refused.additions : [];
    if (suspect !== undefined) this.#open.conversation.leaveOut(this.#body, { addition: suspect, sign: "guessed" });
    return outcome;
  }

  async #sendOriginal(): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal, body } = this.#request;
    this.#isRecorded = false;
    this.#additions = [];
    this.#meter.recordOriginal();
    const headers = forwardHeaders(this.#request.headers);
    return this.#begin(await this.#deps.upstream.send({ provider, method, path, headers, body: [body], signal }));
  }

  async #relayStream(first: UpstreamReply): Promise<void> {
    const relay = new StreamRelay(this.#relayOptions());
    const { "content-length": _length, ...headers } = first.headers;
    this.#reply.head(first.status, headers);
    let current: UpstreamReply | undefined = first;
    for (let calls = 0; current !== undefined; calls += 1) {
      this.#recording = await this.#startRecording();
      try {
        for await (const chunk of current.body) {
          await this.#write(relay.take(chunk));
          if (relay.isCut) throw new GatewayFailure("an event is too long");
        }
      } catch {
        this.#meter.settle();
        this.#recording?.leave();
        this.#reply.destroy();
        return;
      }
      const { out, end } = relay.end();
      this.#meter.settle();
      await this.#write(out);
      this.#recording?.leave();
      const next = await this.#continue(end, calls);
      if (next?.kind === "failed") await this.#write([relay.fail({ type: "api_error", message: next.message })]);
      else if (next !== undefined && !isReadable(next)) await this.#write([relay.fail(await readError(next))]);
      current = next?.kind === "reply" && isReadable(next) ? next : undefined;
      if (current !== undefined) relay.continue();
      else if (next === undefined && end.kind !== "broken") this.#deps.conversations.replied(this.#found);
    }
    await this.#reply.end();
    void this.#meter.replied(this.#recording?.done);
  }

  async #relayWhole(first: UpstreamReply): Promise<void> {
    let whole: JsonObject | undefined;
    const relay = new WholeRelay({
      ...this.#relayOptions(),
      onEvent: (event) => {
        this.#ids.note(event);
        this.#meter.take(event);
        whole = event;
      },
    });
    let current: UpstreamReply | UpstreamFailure = first;
    for (let calls = 0; ; calls += 1) {
      if (current.kind === "failed") return await this.#sendFailure(current);
      if (!isGood(current)) return await this.#pass(current);
      const { bytes, flaw, reply } = await bufferReply(current, wholeReplyBytesMax);
      if (flaw !== undefined) this.#meter.settle();
      if (flaw === "broken") return await this.#sendFailure(brokenOff);
      if (bytes === undefined) return await this.#pass(reply);
      whole = undefined;
      const { out = bytes, end } = relay.take(bytes);
      this.#meter.settle();
      if (whole !== undefined) await this.#recordWhole(whole);
      const next = await this.#continue(end, calls);
      if (next !== undefined) {
        current = next;
        continue;
      }
      this.#reply.head(current.status, { ...current.headers, "content-length": String(out.byteLength) });
      await this.#reply.write(out);
      await this.#reply.end();
      if (end.kind !== "broken" && !this.#request.signal.aborted) this.#deps.conversations.replied(this.#found);
      void this.#meter.replied(undefined);
      return;
    }
  }

  /** Answers own calls. Undefined: the client has its whole reply; else its reply goes on with this one. */
  async #continue(end: ReplyEnd, calls: number): Promise<UpstreamReply | UpstreamFailure | undefined> {
    if (end.kind !== "gateway-calls") return undefined;
    const { conversation } = this.#open;
    let prepared: PreparedBody | undefined;
    try {
      await this.#inTime(async () => {
        await this.#recording?.done;
        await conversation.answer(this.#body, end.calls);
      });
      if (end.client === "complete") return undefined;
      if (calls >= gatewayCallsMax)
        throw new GatewayFailure(`tools of the gateway were called ${gatewayCallsMax} times in one reply`);
      prepared = await this.#inTime((signal) => conversation.next(this.#body, signal));
    } catch (error) {
      if (end.client !== "complete") return await this.#failOpen("answer", error);
      this.#reportFailure("answer", error);
      return undefined;
    }
    return await this.#sendWithFallbacks(prepared);
  }

  async #startRecording(): Promise<Recording | undefined> {
    if (!this.#isRecorded) return undefined;
    const tell = (error: unknown): void => this.#reportFailure("record", error);
    try {
      return await this.#open.conversation.record(this.#body, tell);
    } catch (error) {
      tell(error);
      return undefined;
    }
  }

  async #recordWhole(reply: JsonObject): Promise<void> {
    try {
      if (this.#isRecorded) await this.#inTime(() => this.#open.conversation.recordWhole(this.#body, reply));
    } catch (error) {
      this.#reportFailure("record", error);
    }
  }

  #relayOptions(): RelayOptions {
    const { provider } = this.#request;
    const report =
      this.#deps.options().usage === "used"
        ? ({ kind: "used" } as const)
        : ({ kind: "sent", moreTokens: (used: number) => this.#meter.moreTokens(used) } as const);
    const writeDetails = this.#open.conversation.mayAddBreakpoints(this.#body) ? "dropped" : "kept";
    return {
      provider,
      gatewayTools: this.#gatewayTools,
      usage: usageChange(provider, { report, writeDetails }),
      usageChunk: this.#additions.includes("usage") ? "withhold" : "pass",
      onEvent: (event) => {
        this.#ids.note(event);
        this.#meter.take(event);
        this.#recording?.put(event);
      },
    };
  }

  async #write(chunks: readonly Uint8Array[]): Promise<void> {
    const [first] = chunks;
    if (first !== undefined) await this.#reply.write(chunks.length === 1 ? first : Buffer.concat(chunks));
  }

  /** A reply that is not read. A call of ours in it would reach the client: its upstream is not offered our tools again. */
  async #pass(outcome: UpstreamReply): Promise<void> {
    this.#meter.settle();
    if (isGood(outcome) && this.#additions.includes("gateway-tools") && this.#request.operation === "create")
      this.#open.conversation.leaveOut(this.#body, { addition: "gateway-tools", sign: "named" });
    await passReply(outcome, this.#reply);
  }

  async #sendFailure(failure: UpstreamFailure): Promise<void> {
    if (!this.#reply.headersSent) await sendError(this.#reply, failureReply(this.#request.provider, failure));
  }

  #reportFailure(step: string, error: unknown): void {
    this.#deps.onEvent({ kind: "failed-open", user: this.#request.user, step, message: describeError(error) });
  }
}

/** For what a request holds. 422: of servers that check its fields. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422]);
