import { field, isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { GatewayFailure } from "../conversation/gateway-failure.ts";
import { gatewayCallsMax } from "../conversation/limits.ts";
import type { PreparedBody } from "../conversation/request/live-request.ts";
import type { Recording } from "../conversation/recording.ts";
import type { RelayOptions, ReplyEnd } from "../reply/relay.ts";
import { StreamRelay } from "../reply/stream-relay.ts";
import { usageChange } from "../reply/usage.ts";
import { WholeRelay } from "../reply/whole-relay.ts";
import { isStream } from "../upstream/headers.ts";
import type { UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { bufferReply, isGood, isReadable, readError } from "./buffered-reply.ts";
import { brokenOff, failureReply, sendError } from "./error-reply.ts";
import { wholeReplyBytesMax } from "./limits.ts";
import { passReply } from "./pass-through.ts";
import type { RunningExchange } from "./running-exchange.ts";
import { failOpen, sendPrepared, type SentRequest } from "./send-prepared.ts";

export interface RelayInput {
  readonly sent: SentRequest;
  /** The tools of this request: a newer one may have others. */
  readonly gatewayTools: ReadonlySet<string>;
}

/**
 * Relays and records the reply to a request. If the reply calls only tools of the gateway, they are answered, and the
 * client's reply goes on with the next one. Once the original request was sent, nothing more is recorded.
 */
export async function relayReply(exchange: RunningExchange, input: RelayInput): Promise<void> {
  await new ReplyRelay(exchange, input).run();
}

class ReplyRelay {
  readonly #exchange: RunningExchange;
  readonly #first: SentRequest;
  readonly #gatewayTools: ReadonlySet<string>;
  readonly #ids: ResponseIds;
  #recording: Recording | undefined;

  constructor(exchange: RunningExchange, { sent, gatewayTools }: RelayInput) {
    this.#exchange = exchange;
    this.#first = sent;
    this.#gatewayTools = gatewayTools;
    this.#ids = new ResponseIds((ids) => exchange.deps.onJoined(exchange.request.user, ids));
  }

  async run(): Promise<void> {
    const { outcome } = this.#first;
    if (outcome.kind === "failed") await this.#sendFailure(outcome);
    else if (!isReadable(outcome)) await this.#pass(outcome, this.#first);
    else if (isStream(outcome.headers)) await this.#relayStream(outcome);
    else await this.#relayWhole();
  }

  async #relayStream(first: UpstreamReply): Promise<void> {
    const { deps, found, reply, meter } = this.#exchange;
    const relay = new StreamRelay(this.#relayOptions());
    const { "content-length": _length, ...headers } = first.headers;
    reply.head(first.status, headers);
    let current: UpstreamReply | undefined = first;
    let isRecorded = this.#first.sentAs === "prepared";
    for (let calls = 0; current !== undefined; calls += 1) {
      this.#recording = isRecorded ? await this.#startRecording(relay) : undefined;
      try {
        for await (const chunk of current.body) {
          await this.#write(relay.take(chunk));
          if (relay.isCut) throw new GatewayFailure("an event is too long");
        }
      } catch {
        relay.observe();
        meter.settle();
        this.#recording?.leave();
        reply.destroy();
        return;
      }
      const { out, end } = relay.end();
      await this.#write(out);
      if (end.kind === "gateway-calls") {
        relay.observe();
        meter.settle();
        this.#recording?.handOver();
      }
      const sent = await this.#continue(end, calls);
      const next = sent?.outcome;
      if (next?.kind === "failed") await this.#write([relay.fail({ type: "api_error", message: next.message })]);
      else if (next !== undefined && !isReadable(next)) await this.#write([relay.fail(await readError(next))]);
      current = next?.kind === "reply" && isReadable(next) ? next : undefined;
      isRecorded &&= sent?.sentAs === "prepared";
      if (current !== undefined) relay.continue();
      else if (next === undefined && end.kind !== "broken") deps.conversations.replied(found);
    }
    const ended = reply.end();
    // Only now that the client has its last bytes, but before another request comes.
    this.#recording?.leave();
    if (!meter.isUsageKnown) relay.observe();
    meter.settle();
    await ended;
    void meter.countEdits(this.#recording?.done);
  }

  async #relayWhole(): Promise<void> {
    const { deps, request, found, reply, meter } = this.#exchange;
    const options = this.#relayOptions();
    let whole: JsonObject | undefined;
    const onEvent = (event: JsonObject): void => {
      options.onParsed?.(event);
      whole = event;
    };
    const relay = new WholeRelay({ ...options, onEvent });
    let sent = this.#first;
    let isRecorded = true;
    for (let calls = 0; ; calls += 1) {
      const { outcome } = sent;
      isRecorded &&= sent.sentAs === "prepared";
      if (outcome.kind === "failed") return await this.#sendFailure(outcome);
      if (!isGood(outcome)) return await this.#pass(outcome, sent);
      const buffered = await bufferReply(outcome, wholeReplyBytesMax);
      if (buffered.flaw !== undefined) meter.settle();
      if (buffered.flaw === "broken") return await this.#sendFailure(brokenOff);
      if (buffered.bytes === undefined) return await this.#pass(buffered.reply, sent);
      whole = undefined;
      const { out = buffered.bytes, end } = relay.take(buffered.bytes);
      meter.settle();
      if (whole !== undefined && isRecorded) await this.#recordWhole(whole);
      const next = await this.#continue(end, calls);
      if (next !== undefined) {
        sent = next;
        continue;
      }
      reply.head(outcome.status, { ...outcome.headers, "content-length": String(out.byteLength) });
      await reply.write(out);
      await reply.end();
      if (end.kind !== "broken" && !request.signal.aborted) deps.conversations.replied(found);
      void meter.countEdits(undefined);
      return;
    }
  }

  /** Answers calls of gateway tools. Returns undefined if the client has its whole reply, else what its reply goes on with. */
  async #continue(end: ReplyEnd, calls: number): Promise<SentRequest | undefined> {
    if (end.kind !== "gateway-calls") return undefined;
    const exchange = this.#exchange;
    const { body, active } = exchange.found;
    let prepared: PreparedBody;
    try {
      await exchange.inTime(async () => {
        await this.#recording?.done;
        await active.conversation.answer(body, end.calls);
      });
      if (end.client === "complete") return undefined;
      if (calls >= gatewayCallsMax)
        throw new GatewayFailure(`tools of the gateway were called ${gatewayCallsMax} times in one reply`);
      prepared = await exchange.inTime((signal) => active.conversation.next(body, signal));
    } catch (error) {
      if (end.client !== "complete") return await failOpen(exchange, { step: "answer", error });
      exchange.reportFailure("answer", error);
      return undefined;
    }
    return await sendPrepared(exchange, prepared);
  }

  async #startRecording(relay: StreamRelay): Promise<Recording | undefined> {
    const { body, active } = this.#exchange.found;
    const tell = (error: unknown): void => this.#exchange.reportFailure("record", error);
    try {
      return await active.conversation.record(body, { onFailure: tell, beforeHandOver: () => relay.observe() });
    } catch (error) {
      tell(error);
      return undefined;
    }
  }

  async #recordWhole(reply: JsonObject): Promise<void> {
    const { body, active } = this.#exchange.found;
    try {
      await this.#exchange.inTime(() => active.conversation.recordWhole(body, reply));
    } catch (error) {
      this.#exchange.reportFailure("record", error);
    }
  }

  #relayOptions(): RelayOptions {
    const { deps, request, meter } = this.#exchange;
    const { provider } = request;
    const report =
      deps.options().usage === "used"
        ? ({ kind: "used" } as const)
        : ({ kind: "sent", omittedTokens: (used: number) => meter.omittedTokens(used) } as const);
    const writeDetails = this.#first.additions.includes("breakpoint") ? "dropped" : "kept";
    return {
      provider,
      gatewayTools: this.#gatewayTools,
      usage: usageChange(provider, { report, writeDetails }),
      usageChunk: this.#first.additions.includes("usage") ? "withhold" : "pass",
      onParsed: (event) => {
        this.#ids.note(event);
        meter.take(event);
      },
      onEvent: (event) => this.#recording?.put(event),
    };
  }

  async #write(chunks: readonly Uint8Array[]): Promise<void> {
    const [first] = chunks;
    if (first !== undefined) await this.#exchange.reply.write(chunks.length === 1 ? first : Buffer.concat(chunks));
  }

  /** Passes a reply unread. It could show the client a call of a gateway tool, so its upstream is not offered them again. */
  async #pass(outcome: UpstreamReply, { additions }: SentRequest): Promise<void> {
    const { request, found, reply, meter } = this.#exchange;
    meter.settle();
    if (isGood(outcome) && additions.includes("gateway-tools") && request.operation === "create")
      void found.active.conversation.leaveOut(found.body, {
        addition: "gateway-tools",
        // One large reply says little about the upstream; a compression that can't be decoded comes again.
        sign: isReadable(outcome) ? "guessed" : "named",
      });
    await passReply(outcome, reply);
  }

  async #sendFailure(failure: UpstreamFailure): Promise<void> {
    const { request, reply } = this.#exchange;
    if (!reply.headersSent) await sendError(reply, failureReply(request.provider, failure));
  }
}

/** The ids of the replies of the Responses API that one client reply is made of. */
class ResponseIds {
  readonly #onJoined: (ids: { readonly first: string; readonly last: string }) => void;
  #first: string | undefined;
  #last: string | undefined;

  /** `onJoined` is called for each reply after the first one. */
  constructor(onJoined: (ids: { readonly first: string; readonly last: string }) => void) {
    this.#onJoined = onJoined;
  }

  /** Takes an event of a stream, or a whole reply. Other events have ids of items only. */
  note(event: JsonObject): void {
    const named = field(event, "response") ?? (field(event, "object") === "response" ? event : undefined);
    const last = isObject(named) ? textField(named, "id") : undefined;
    if (last === undefined || last === this.#last) return;
    this.#last = last;
    this.#first ??= last;
    if (this.#first !== last) this.#onJoined({ first: this.#first, last });
  }
}
