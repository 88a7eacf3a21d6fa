import { type JsonObject, tryParseJson } from "palimpsest/internal/schema/json";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import { raceAbort } from "palimpsest/internal/schema/race-abort";
import type { RequestBody } from "../body/request-body.ts";
import { HeldHistories } from "../conversation/held-history.ts";
import type { HeldLog } from "../conversation/held-log.ts";
import type { Conversations, FoundRequest, OpenConversation } from "../conversation/conversations.ts";
import type { PreparedBody } from "../conversation/gateway-conversation.ts";
import { addedFields } from "../conversation/request-writer.ts";
import { OwnFailure } from "../conversation/own-failure.ts";
import { ownCallsMax, plainerTriesMax } from "../conversation/limits.ts";
import type { Recording } from "../conversation/recording.ts";
import type { GatewayListener } from "../operate/gateway-event.ts";
import type { RelayOptions, ReplyEnd } from "../reply/relay.ts";
import { StreamRelay } from "../reply/stream-relay.ts";
import { usageChange } from "../reply/usage.ts";
import { WholeRelay } from "../reply/whole-relay.ts";
import { addBetas, askForPlainReply, forwardHeaders, isStream } from "../upstream/headers.ts";
import type { Upstream, UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { type ChargedPassDeps, passCharged, refuseUnpriced } from "./charged-pass.ts";
import { describeError } from "./describe-error.ts";
import { failureReply, sendError } from "./error-reply.ts";
import type { ClientReply, ClientRequest, Exchange } from "./exchange.ts";
import { findConversation } from "./find-conversation.ts";
import { holdReply, isGood, isReadable, readError } from "./held-reply.ts";
import { errorBytesMax, wholeReplyBytesMax } from "./limits.ts";
import { ownSummarizer } from "./own-summarizer.ts";
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
  /** The operator's own, before the known ones. */
  readonly prices?: readonly ModelOverride[] | undefined;
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
  const prices = () => deps.options().prices ?? [];
  const exchange = wholeExchange({ ...deps, prices, onJoined: (user, ids) => histories.linkReplies(user, ids) });
  return heldExchange({ ...deps, prices, histories, threads: () => deps.options().threads }, exchange);
}

interface WholeExchangeDeps extends ContextExchangeDeps, ChargedPassDeps {
  /** A reply of the Responses API was made of several: its id, and that of the last one. */
  readonly onJoined: (user: string, ids: { readonly first: string; readonly last: string }) => void;
}

const wholeExchange =
  (deps: WholeExchangeDeps): Exchange =>
  async (request, reply) => {
    const found = findConversation(deps, request);
    if (found === undefined) {
      await passCharged(deps, request, reply);
      return;
    }
    const model = found.body.field("model");
    if (await refuseUnpriced(deps, { request, reply, model: typeof model === "string" ? model : undefined })) return;
    const { open } = found;
    open.running += 1;
    try {
      await new RunningExchange(deps, { request, reply, found }).run();
    } finally {
      open.running -= 1;
    }
  };

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
  /** Of this request: a newer one may have others. */
  #ownTools: ReadonlySet<string> = new Set();
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
      this.#tellFailure("prepare", error);
      await passCharged(this.#deps, this.#request, this.#reply);
      return;
    }
    if (this.#request.operation === "create") this.#deps.conversations.countRequest(this.#open);
    this.#ownTools = prepared.ownTools;
    const outcome = await this.#sendPlainer(prepared);
    if (outcome.kind === "failed") await this.#sendFailure(outcome);
    else if (!isReadable(outcome) || this.#request.operation === "count") await this.#pass(outcome);
    else if (isStream(outcome.headers)) await this.#relayStream(outcome);
    else await this.#relayWhole(outcome);
  }

  #prepare(): Promise<PreparedBody> {
    const { body, previous, begun } = this.#found;
    const { files } = this.#request;
    const askModel = ownSummarizer(this.#deps, this.#request);
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
        throw new OwnFailure("it took too long");
      },
    });
  }

  /** A request that is refused for what it holds is made plainer; at last the client's own is sent. */
  async #sendPlainer(first: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { conversation } = this.#open;
    let prepared = first;
    for (let tries = 0; ; tries += 1) {
      const outcome = await this.#send(prepared);
      if (outcome.kind === "failed" || !refusals.has(outcome.status)) return outcome;
      const { bytes, reply } = await holdReply(outcome, errorBytesMax);
      if (bytes === undefined) return reply;
      const isOwn = prepared.bytes.length === 1 && prepared.bytes[0] === this.#request.body;
      const named = addedFields.find((name) => bytes.includes(name));
      if (outcome.status === 422 && named === undefined) return reply;
      try {
        if (named !== undefined && conversation.leaveOut(named, this.#body)) {
          prepared = await this.#inTime((signal) => conversation.next(this.#body, signal));
          continue;
        }
        const error = { status: outcome.status, body: tryParseJson(bytes.toString("utf8")) ?? bytes.toString("utf8") };
        const isPlainer =
          tries < plainerTriesMax && (await this.#inTime(() => conversation.refused(this.#body, error)));
        if (!isPlainer) return isOwn ? reply : await this.#sendRefused(outcome.status);
        prepared = await this.#inTime((signal) => conversation.next(this.#body, signal));
      } catch (error) {
        return isOwn ? reply : await this.#sendOwn("refused", error);
      }
    }
  }

  async #send(prepared: PreparedBody): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal } = this.#request;
    this.#account.sent(prepared);
    const headers = addBetas(askForPlainReply(forwardHeaders(this.#request.headers)), prepared.betas);
    const outcome = await this.#deps.upstream.send({ provider, method, path, headers, body: prepared.bytes, signal });
    return this.#begin(outcome);
  }

  /** A client that goes away before the reply has begun has paid for its request too. */
  #begin(outcome: UpstreamReply | UpstreamFailure): UpstreamReply | UpstreamFailure {
    const isPaid = outcome.kind === "reply" ? isGood(outcome) : outcome.why === "cancelled";
    if (!isPaid || this.#request.operation !== "create") return outcome;
    this.#account.begin();
    if (outcome.kind === "failed") this.#account.settle();
    return outcome;
  }

  /** Something of ours failed: the client's own request is sent. */
  async #sendOwn(step: string, error: unknown): Promise<UpstreamReply | UpstreamFailure> {
    if (!this.#request.signal.aborted) this.#tellFailure(step, error);
    return await this.#sendUnchanged();
  }

  /** If the client's own request is refused too, the mistake is the client's. */
  async #sendRefused(status: number): Promise<UpstreamReply | UpstreamFailure> {
    const outcome = await this.#sendUnchanged();
    if (outcome.kind === "reply" && outcome.status !== status)
      this.#tellFailure("refused", new OwnFailure(`status ${status}`));
    return outcome;
  }

  async #sendUnchanged(): Promise<UpstreamReply | UpstreamFailure> {
    const { provider, method, path, signal, body } = this.#request;
    this.#isRecorded = false;
    this.#account.sentOwn();
    const headers = askForPlainReply(forwardHeaders(this.#request.headers));
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
          if (relay.isCut) throw new OwnFailure("an event is too long");
        }
      } catch {
        this.#account.settle();
        this.#recording?.leave();
        this.#reply.destroy();
        return;
      }
      const { out, end } = relay.end();
      this.#account.settle();
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
    void this.#account.replied(this.#recording?.done);
  }

  async #relayWhole(first: UpstreamReply): Promise<void> {
    let whole: JsonObject | undefined;
    const relay = new WholeRelay({
      ...this.#relayOptions(),
      onEvent: (event) => {
        this.#ids.note(event);
        this.#account.take(event);
        whole = event;
      },
    });
    let current: UpstreamReply | UpstreamFailure = first;
    for (let calls = 0; ; calls += 1) {
      if (current.kind === "failed") return await this.#sendFailure(current);
      if (!isGood(current)) return await this.#pass(current);
      const { bytes, flaw, reply } = await holdReply(current, wholeReplyBytesMax);
      if (flaw !== undefined) this.#account.settle();
      if (flaw === "broken") return await this.#sendFailure(brokenOff);
      if (bytes === undefined) return await this.#pass(reply);
      whole = undefined;
      const { out = bytes, end } = relay.take(bytes);
      this.#account.settle();
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
      await this.#inTime(async () => {
        await this.#recording?.done;
        await conversation.answer(this.#body, end.calls);
      });
      if (end.client === "complete") return undefined;
      if (calls >= ownCallsMax)
        throw new OwnFailure(`tools of the gateway were called ${ownCallsMax} times in one reply`);
      prepared = await this.#inTime((signal) => conversation.next(this.#body, signal));
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
      if (this.#isRecorded) await this.#inTime(() => this.#open.conversation.recordWhole(this.#body, reply));
    } catch (error) {
      this.#tellFailure("record", error);
    }
  }

  #relayOptions(): RelayOptions {
    const { provider } = this.#request;
    const moreTokens = () => this.#account.moreTokens;
    const report =
      this.#deps.options().usage === "used" ? ({ kind: "used" } as const) : ({ kind: "sent", moreTokens } as const);
    const writeDetails = this.#open.conversation.mayAddBreakpoints(this.#body) ? "dropped" : "kept";
    return {
      provider,
      ownTools: this.#ownTools,
      usage: usageChange(provider, { report, writeDetails }),
      usageChunk: this.#open.conversation.addsUsage(this.#body) ? "withhold" : "pass",
      onEvent: (event) => {
        this.#ids.note(event);
        this.#account.take(event);
        this.#recording?.put(event);
      },
    };
  }

  async #write(chunks: readonly Uint8Array[]): Promise<void> {
    const [first] = chunks;
    if (first !== undefined) await this.#reply.write(chunks.length === 1 ? first : Buffer.concat(chunks));
  }

  /** A reply that is not read. */
  async #pass(outcome: UpstreamReply): Promise<void> {
    this.#account.settle();
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

/** For what a request holds. 422: of servers that check its fields. */
const refusals: ReadonlySet<number> = new Set([400, 413, 422]);

const brokenOff: UpstreamFailure = { kind: "failed", why: "reset", message: "The upstream closed the connection." };
