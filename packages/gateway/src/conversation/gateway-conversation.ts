import type { Context } from "palimpsest/internal/context/context";
import type { NextRequest } from "palimpsest/internal/context/outcomes";
import type { SyncOptions } from "palimpsest/internal/context/inputs";
import { classifyRefusal, type Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { millis } from "palimpsest/internal/schema/brand";
import type { RequestBody } from "../body/request-body.ts";
import type { GatewayCall } from "../reply/relay.ts";
import { estimateTokens } from "../reply/reply-usage.ts";
import { type ClientList, readClientList } from "./request/client-list.ts";
import { type ContextInput, ConversationContext, type ContextDeps, isReduced } from "./conversation-context.ts";
import { ConversationTools } from "./request/conversation-tools.ts";
import { turnMsMax, turnWithSummaryMsMax } from "./limits.ts";
import { ListEstimator } from "./list-estimator.ts";
import { LiveRequest, type PreparedBody } from "./request/live-request.ts";
import { GatewayFailure } from "./gateway-failure.ts";
import { answerGatewayCalls } from "./tools/gateway-tools.ts";
import { Recording, type RecordingInput } from "./recording.ts";
import type { Addition, LeftOut, RefusedAdditions } from "./request/refused-additions.ts";
import { type CountRequest, RequestWriter, type WriteInput, type WrittenBody } from "./request/request-writer.ts";
import type { ToolUsageLog } from "./tools/tool-usage-log.ts";
import { type WireFormat, wireFormats } from "./request/wire-format.ts";

/** What a context does with messages and replies as they come from the wire: it checks their form itself. */
interface WireReader<P extends Provider> {
  sync(messages: readonly object[], options: SyncOptions): Promise<NextRequest<P>>;
  assistant(reply: object): Promise<unknown>;
  assistantStream(events: AsyncIterable<object>): Promise<unknown>;
}

export interface ConversationOptions<P extends Provider> extends ContextDeps<P> {
  /** The program that sends the requests. */
  readonly client?: string | undefined;
  /** Who uses which tools; `who`: the user and the program. */
  readonly toolUse?: { readonly log: ToolUsageLog; readonly who: string } | undefined;
  /** Of all conversations. Absent: every addition is sent. */
  readonly refused?: RefusedAdditions | undefined;
  readonly now: () => number;
}

export interface PrepareInput<P extends Provider> extends ContextInput<P> {
  /** The body that this one was read with. */
  readonly previous: RequestBody | undefined;
  readonly signal: AbortSignal;
}

/**
 * One conversation of a client: its context, and the client's newest list.
 *
 *   prepare ──▶ (sent upstream) ──▶ record … ──own calls──▶ answer ──▶ next ──▶ (sent) …
 *           ──refused──▶ handleRefusal ──▶ next
 *
 * A client may send a request before it has the reply to another one. Only the newest request may use the context. The
 * reply to an earlier one is not recorded; the client's next request contains it. After calls of ours an earlier request
 * continues as it was prepared; a refusal of it can't be handled.
 */
export class GatewayConversation<P extends Provider> {
  readonly #options: ConversationOptions<P>;
  readonly #format: WireFormat;
  readonly #tools: ConversationTools;
  readonly #writer: RequestWriter<P>;
  readonly #estimator: ListEstimator;
  readonly #context: ConversationContext<P>;
  #recording: Recording | undefined;
  /** The body of the request that has the context. */
  #current: RequestBody | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** When the call that runs now began. */
  #turnSince: number | undefined;
  /** The newest body that was taken over, and its list. */
  #newest: { readonly body: RequestBody; readonly list: ClientList } | undefined;
  /** How that list was sent last. */
  #outgoing: Pick<WriteInput<P>, "outgoing" | "request"> | undefined;
  /** Of requests that are not answered yet: each keeps its whole body. */
  readonly #liveByBody = new Map<RequestBody, LiveRequest>();

  constructor(options: ConversationOptions<P>) {
    this.#options = options;
    this.#format = wireFormats[options.provider];
    this.#tools = new ConversationTools(this.#format, options);
    this.#context = new ConversationContext(options, this.#tools);
    this.#writer = new RequestWriter(options, this.#tools);
    this.#estimator = new ListEstimator(options.provider);
  }

  /** For the reader of the next body. */
  get body(): RequestBody | undefined {
    return this.#newest?.body;
  }

  /**
   * Takes over a list and returns the request to send. Rejects if the context can't take it, and at once if one before it
   * never ends.
   */
  prepare(input: PrepareInput<P>): Promise<PreparedBody> {
    if (this.#turnSince !== undefined && performance.now() - this.#turnSince > this.turnMsMax)
      return Promise.reject(new GatewayFailure("an earlier request still has the conversation"));
    return this.#inTurn(() => this.#prepare(input));
  }

  /** How long one of the calls below may take before it counts as hanging. */
  get turnMsMax(): number {
    return this.#options.summarizer === "own" ? turnWithSummaryMsMax : turnMsMax;
  }

  async #prepare(input: PrepareInput<P>): Promise<PreparedBody> {
    const { body, previous, signal } = input;
    signal.throwIfAborted();
    this.#current = body;
    this.#recording?.handOver();
    const list = readClientList(this.#format, body);
    // What did not change since `previous` is known only if the context has taken over that very body.
    const unchanged = previous !== undefined && previous === this.body ? list.unchanged : 0;
    this.#checkTools(body);
    this.#tools.observeRequest(body.field("tools"), { elements: list.elements, unchanged });
    const context = await this.#context.openOrUpdate(input, list);
    this.#newest = { body, list };
    this.#outgoing = undefined;
    const reader: WireReader<P> = context;
    const messages = list.elements.map(({ value }) => value);
    const request = await reader.sync(messages, { signal, unchanged, ending: "any" });
    signal.throwIfAborted();
    this.#liveByBody.set(body, new LiveRequest(this.#options.provider));
    return this.#write(context, request);
  }

  /** The request was answered, or given up. */
  end(body: RequestBody): void {
    this.#liveByBody.delete(body);
  }

  /**
   * A body that begins with the newest list, with that as it was last sent: for a count. Undefined if that is not known.
   * Changes nothing.
   */
  count(body: RequestBody): CountRequest | undefined {
    const { outgoing, request } = this.#outgoing ?? {};
    if (outgoing === undefined || request === undefined) return undefined;
    const list = readClientList(this.#format, body);
    const added = list.elements.map((_, at) => ({ kind: "given", at }) as const);
    const known = this.#newest?.list.elements.length ?? 0;
    const whole = [...outgoing, ...added.slice(known)];
    const counted = { body, operation: "count" } as const;
    return {
      ...this.#writer.write({ ...counted, list, outgoing: whole, request }),
      leaveOut: (refused) => this.#writer.leaveOut(counted, refused),
      addAgain: (addition) => this.#writer.addAgain(counted, addition),
    };
  }

  /** The next request after a refusal, or with the results of own calls. */
  next(body: RequestBody, signal: AbortSignal): Promise<PreparedBody> {
    return this.#inTurn(async () => {
      const goesOn = this.#current === body ? undefined : this.#liveByBody.get(body)?.next();
      if (goesOn !== undefined) return goesOn;
      const context = await this.#require(body);
      return this.#write(context, await context.next({ signal }));
    });
  }

  /**
   * Reduces the conversation after a refusal; returns whether another request can be sent. If the refusal names no part of
   * the request and nothing has been reduced yet, it returns false: sending the original request shows whether the gateway
   * caused it.
   */
  handleRefusal(body: RequestBody, error: { readonly status: number; readonly body: unknown }): Promise<boolean> {
    return this.#inTurn(async () => {
      const context = await this.#require(body);
      const clock = { now: () => millis(this.#options.now()) };
      const { why, part } = classifyRefusal(this.#options.provider, clock, error);
      if (why === "refused" && part === undefined && !isReduced(context)) return false;
      const after = await context.refused(error);
      return after.kind === "retry" && after.afterMs === 0;
    });
  }

  /** Records a reply, event by event; not if a newer request has the context. */
  async record(body: RequestBody, options: Pick<RecordingInput, "onFailure" | "beforeHandOver">): Promise<Recording> {
    const reader: WireReader<P> | undefined = await this.#context.opened;
    const isCurrent = reader !== undefined && this.#current === body;
    const start = async (events: AsyncIterable<object>) => (isCurrent ? await reader.assistantStream(events) : []);
    const recording = new Recording({ start, ...options });
    this.#liveByBody.get(body)?.setReply(() => recording.events);
    if (isCurrent) this.#recording = recording;
    return recording;
  }

  /** Records a reply that was not streamed, unless a newer request has the context. */
  async recordWhole(body: RequestBody, reply: JsonObject): Promise<void> {
    const reader: WireReader<P> | undefined = await this.#context.opened;
    this.#liveByBody.get(body)?.setReply(() => [reply]);
    if (reader !== undefined && this.#current === body) await reader.assistant(reply);
  }

  answer(body: RequestBody, calls: readonly GatewayCall[]): Promise<void> {
    return this.#inTurn(async () => {
      const live = this.#liveByBody.get(body);
      const context = await this.#context.opened;
      if (live === undefined || context === undefined) throw new GatewayFailure("the conversation is closed");
      const results = await answerGatewayCalls(context, { tools: live.gatewayTools, calls });
      live.addResults(results);
      if (this.#current !== body) return;
      for (const { id, content, isError } of results) await context.toolResult(id, content, { isError });
    });
  }

  /** The upstream does not take this addition: it is in no request of any conversation from now on. */
  leaveOut(body: RequestBody, refused: LeftOut): Promise<void> {
    return this.#changeAdditions(body, () => this.#writer.leaveOut({ body, operation: "create" }, refused));
  }

  /** It was refused for something else: see `leaveOut`. */
  addAgain(body: RequestBody, addition: Addition): Promise<void> {
    return this.#changeAdditions(body, () => this.#writer.addAgain({ body, operation: "create" }, addition));
  }

  /** The context, if it is open: for costs and receipts. */
  get context(): Promise<Context<P>> | undefined {
    return this.#context.opened;
  }

  /** For good: then its session is free for others. What has come of a reply is stored first. */
  async close(): Promise<void> {
    this.#current = undefined;
    this.#recording?.handOver();
    await this.#recording?.done;
    await this.#context.close();
  }

  /** Runs calls one after the other: what a request is written with must not change before it is written. */
  #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#lastTurn.then(async () => {
      this.#turnSince = performance.now();
      try {
        return await call();
      } finally {
        this.#turnSince = undefined;
      }
    });
    this.#lastTurn = result.catch(() => undefined);
    return result;
  }

  async #require(body: RequestBody): Promise<Context<P>> {
    const context = await this.#context.opened;
    if (context === undefined || this.#current !== body)
      throw new GatewayFailure("a newer request has the conversation");
    return context;
  }

  /** What is written next is the newest request, which may have another form than the one that was refused. */
  #changeAdditions(refused: RequestBody, change: () => void): Promise<void> {
    return this.#inTurn(async () => {
      change();
      this.#checkTools(this.body ?? refused);
    });
  }

  #checkTools(body: RequestBody): void {
    const isRefused = this.#writer.leavesOut({ body, operation: "create" }, "gateway-tools");
    this.#tools.checkForm((name) => body.field(name), isRefused ? "refuses" : "takes");
  }

  #write(context: Context<P>, request: NextRequest<P>): PreparedBody {
    const current = this.#newest;
    if (current === undefined) throw new TypeError("the conversation was not prepared");
    this.#outgoing = { outgoing: context.outgoing(), request };
    const written = this.#writer.write({ ...current, ...this.#outgoing, operation: "create" });
    const { fixed, windowTokens } = this.#context;
    const { body } = current;
    const compare = (sent: WrittenBody, usedTokens: number): number =>
      this.#estimator.compare(
        {
          client: body.elements,
          sent: sent.list,
          fixed: [fixed?.system, fixed?.tools],
          gatewayTools: written.gatewayTools.map(({ definition }) => this.#format.writeTool(definition)),
        },
        usedTokens,
      );
    const prepareWritten = (sent: WrittenBody, tokens: number): PreparedBody => ({
      ...sent,
      tokens,
      windowTokens,
      moreTokens: (usedTokens) => compare(sent, usedTokens),
      extend: (added) =>
        prepareWritten(sent.extend(added), tokens + estimateTokens(Buffer.byteLength(JSON.stringify(added)))),
    });
    const prepared = prepareWritten(written, request.tokens);
    this.#liveByBody.get(body)?.setPrepared(prepared);
    return prepared;
  }
}
