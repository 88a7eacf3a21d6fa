import { setTimeout as wait } from "node:timers/promises";
import type { Context } from "palimpsest/internal/context/context";
import { ContextError } from "palimpsest/internal/context/context-error";
import type { NextRequest } from "palimpsest/internal/context/outcomes";
import type { SyncOptions } from "palimpsest/internal/context/inputs";
import { classifyRefusal, type Provider, type Reply } from "palimpsest/internal/context/provider-formats";
import type { AskModel, SummaryRequest } from "palimpsest/internal/context/summarizer";
import type { MessageDigester } from "palimpsest/internal/context/sync/message-digester";
import { openContextBy } from "palimpsest/internal/open/open-context";
import type { ContextOptions } from "palimpsest/internal/open/options";
import type { EditKind } from "palimpsest/internal/schema/edit";
import { isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { millis, tokens } from "palimpsest/internal/schema/brand";
import { resolveWindow } from "palimpsest/internal/tokens/resolve-window";
import type { RequestBody } from "../body/request-body.ts";
import type { GatewayCall } from "../reply/relay.ts";
import { type ClientList, readClientList } from "./client-list.ts";
import { ConversationTools, hiddenTools } from "./conversation-tools.ts";
import { type FixedPart, isSameSystem, isSameTools } from "./fixed-part.ts";
import { busyMsMax, busyStepMs, turnMsMax, turnWithSummaryMsMax } from "./limits.ts";
import { ListEstimator } from "./list-estimator.ts";
import { LiveRequest, type PreparedBody } from "./live-request.ts";
import { GatewayFailure } from "./gateway-failure.ts";
import { answerGatewayCalls, type GatewayTool } from "./gateway-tools.ts";
import { Recording } from "./recording.ts";
import type { LeftOut, RefusedAdditions } from "./refused-additions.ts";
import { readLimit, RequestWriter, type WriteInput, type WrittenBody } from "./request-writer.ts";
import type { ToolUsageLog } from "./tool-usage-log.ts";
import { hidePathsUnless } from "./hide-paths-unless.ts";
import { readSystem, type WireFormat, wireFormats } from "./wire-format.ts";

/** What a context does with messages and replies as they come from the wire: it checks their form itself. */
interface WireReader<P extends Provider> {
  sync(messages: readonly object[], options: SyncOptions): Promise<NextRequest<P>>;
  assistant(reply: object): Promise<unknown>;
  assistantStream(events: AsyncIterable<object>): Promise<unknown>;
}

/** What is done to the requests of a conversation. */
export interface ReductionOptions extends Pick<ContextOptions, "policy" | "saving" | "secrets"> {
  /** The window of a model, where the known one is not to be used. */
  readonly contextTokens?: ((model: string) => number | undefined) | undefined;
  /** Whether the model gets a tool to get back what was removed. */
  readonly recall: "on" | "off";
  /** Whether the model gets a tool for the memories of the project. */
  readonly memory: "on" | "off";
  /** Whether definitions of tools that this client never calls are loaded on demand only (Messages API). */
  readonly deferTools: "on" | "off";
  /** Who marks requests for the provider's cache that the client left without a mark. */
  readonly cacheMarks: "client" | "added";
}

export interface ConversationOptions<P extends Provider> extends Pick<
  ContextOptions<P>,
  "store" | "session" | "onEvent"
> {
  readonly provider: P;
  /** Who writes summaries: the conversation's model, by way of `PrepareInput.askModel`. */
  readonly summarizer: "own" | "none";
  readonly reduction: ReductionOptions;
  /** The program that sends the requests. */
  readonly client?: string | undefined;
  /** Who uses which tools; `who`: the user and the program. */
  readonly toolUse?: { readonly book: ToolUsageLog; readonly who: string } | undefined;
  /** Of all conversations. Absent: every addition is sent. */
  readonly refused?: RefusedAdditions | undefined;
  readonly now: () => number;
  /** Shared with the one who recognises conversations. */
  readonly digester?: MessageDigester | undefined;
}

export interface PrepareInput<P extends Provider> {
  readonly body: RequestBody;
  readonly previous: RequestBody | undefined;
  /** Asks the conversation's model with the credentials of this request. They count until the next one brings others. */
  readonly askModel?: AskModel<P> | undefined;
  /** Whether the client can read what the gateway stores. */
  readonly files: "shared" | "separate";
  readonly signal: AbortSignal;
}

/**
 * One conversation of a client: its context, and the client's newest list.
 *
 *   prepare ──▶ (sent upstream) ──▶ record … ──own calls──▶ answer ──▶ next ──▶ (sent) …
 *           ──refused──▶ refused ──▶ next
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
  #context: Promise<Context<P>> | undefined;
  #sent: FixedPart | undefined;
  #recording: Recording | undefined;
  /** The body of the request that has the context. */
  #current: RequestBody | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** When the call that runs now began. */
  #turnSince: number | undefined;
  #askModel: AskModel<P> | undefined;
  /** The limit that the client asked for last. */
  #limitTokens: number | undefined;
  #isClosed = false;
  #files: PrepareInput<P>["files"] = "separate";
  /** The newest body that was taken over, and its list. */
  #list: { readonly body: RequestBody; readonly list: ClientList } | undefined;
  /** How that list was sent last. */
  #outgoing: Pick<WriteInput<P>, "outgoing" | "request"> | undefined;
  readonly #liveByBody = new WeakMap<RequestBody, LiveRequest>();

  constructor(options: ConversationOptions<P>) {
    this.#options = options;
    this.#format = wireFormats[options.provider];
    this.#tools = new ConversationTools(this.#format, options);
    this.#writer = new RequestWriter(options, this.#tools);
    this.#estimator = new ListEstimator(options.provider);
  }

  /** For the reader of the next body. */
  get body(): RequestBody | undefined {
    return this.#list?.body;
  }

  /**
   * Takes over a list and returns the request to send. `previous`: the body that it was read with. Rejects if the context
   * can't take it, and at once if one before it never ends.
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

  async #prepare({ body, previous, askModel, files, signal }: PrepareInput<P>): Promise<PreparedBody> {
    signal.throwIfAborted();
    this.#current = body;
    this.#askModel = askModel ?? this.#askModel;
    this.#files = files;
    this.#recording?.handOver();
    const isFollowing = previous !== undefined && previous === this.#list?.body;
    const list = readClientList(this.#format, body);
    const { elements, unchanged } = list;
    this.#checkTools(body);
    this.#tools.look(body.field("tools"), { elements, unchanged: isFollowing ? unchanged : 0 });
    const context = await this.#open(body, list);
    this.#list = { body, list };
    this.#outgoing = undefined;
    const reader: WireReader<P> = context;
    const messages = list.elements.map(({ value }) => value);
    const known = isFollowing ? list.unchanged : 0;
    const request = await reader.sync(messages, { signal, unchanged: known, ending: "any" });
    this.#liveByBody.set(body, new LiveRequest(this.#options.provider));
    return this.#write(context, request);
  }

  /**
   * A body that begins with the newest list, with that as it was last sent: for a count. Undefined if that is not known.
   * Changes nothing.
   */
  count(body: RequestBody): WrittenBody | undefined {
    const { outgoing, request } = this.#outgoing ?? {};
    if (outgoing === undefined || request === undefined) return undefined;
    const list = readClientList(this.#format, body);
    const added = list.elements.map((_, at) => ({ kind: "given", at }) as const);
    const known = this.#list?.list.elements.length ?? 0;
    return this.#writer.write({ body, list, outgoing: [...outgoing, ...added.slice(known)], request });
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
  refused(body: RequestBody, error: { readonly status: number; readonly body: unknown }): Promise<boolean> {
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
  async record(body: RequestBody, onFailure: (error: unknown) => void): Promise<Recording> {
    const reader: WireReader<P> | undefined = await this.#context;
    const isCurrent = reader !== undefined && this.#current === body;
    const start = async (events: AsyncIterable<object>) => (isCurrent ? await reader.assistantStream(events) : []);
    const recording = new Recording({ start, onFailure });
    this.#liveByBody.get(body)?.setReply(() => recording.events);
    if (isCurrent) this.#recording = recording;
    return recording;
  }

  /** Records a reply that was not streamed, unless a newer request has the context. */
  async recordWhole(body: RequestBody, reply: JsonObject): Promise<void> {
    const reader: WireReader<P> | undefined = await this.#context;
    this.#liveByBody.get(body)?.setReply(() => [reply]);
    if (reader !== undefined && this.#current === body) await reader.assistant(reply);
  }

  answer(body: RequestBody, calls: readonly GatewayCall[]): Promise<void> {
    return this.#inTurn(async () => {
      const live = this.#liveByBody.get(body);
      const context = live === undefined ? undefined : await this.#context;
      if (context === undefined) throw new GatewayFailure("the conversation is closed");
      const results = await answerGatewayCalls(context, { tools: this.#gatewayTools, calls });
      live?.addResults(results);
      if (this.#current !== body) return;
      for (const { id, content, isError } of results) await context.toolResult(id, content, { isError });
    });
  }

  /** Whether requests of this conversation may have breakpoints that their client did not set. */
  mayAddBreakpoints(body: RequestBody): boolean {
    return this.#writer.mayAddBreakpoints(body);
  }

  /** The upstream does not take this addition: it is in no request of any conversation from now on. */
  leaveOut(body: RequestBody, refused: LeftOut): void {
    this.#writer.leaveOut(body, refused);
    this.#checkTools(body);
  }

  /** The context, if it is open: for costs and receipts. */
  get context(): Promise<Context<P>> | undefined {
    return this.#context;
  }

  /** For good: then its session is free for others. What has come of a reply is stored first. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current = undefined;
    this.#recording?.handOver();
    await this.#recording?.done;
    const opened = this.#context;
    this.#context = undefined;
    await (await opened?.catch(() => undefined))?.close();
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
    const context = await this.#context;
    if (context === undefined || this.#current !== body)
      throw new GatewayFailure("a newer request has the conversation");
    return context;
  }

  async #open(body: RequestBody, list: ClientList): Promise<Context<P>> {
    const now = this.#readFixed(body, list);
    this.#limitTokens = readLimit(this.#format, body)?.value ?? this.#limitTokens;
    if (this.#context === undefined) {
      const opened = this.#openWhenFree(now, body);
      this.#context = opened;
      try {
        const context = await opened;
        this.#sent = now;
        return context;
      } catch (error) {
        this.#context = undefined;
        throw error;
      }
    }
    const [context, sent] = [await this.#context, this.#sent];
    if (sent !== undefined && now.model !== sent.model) await context.setModel(now.model);
    if (sent !== undefined && !isSameSystem(now, sent)) await context.setSystem(readSystem(now.system, now.lead));
    if (sent !== undefined && !isSameTools(now, sent)) await context.setTools(this.#tools.options(now));
    this.#sent = now;
    return context;
  }

  /** Another program may have the session open for a moment. */
  async #openWhenFree(fixed: FixedPart, body: RequestBody): Promise<Context<P>> {
    for (let waitedMs = 0; ; waitedMs += busyStepMs) {
      if (this.#isClosed) throw new GatewayFailure("the conversation is closed");
      try {
        return await this.#openContext(fixed, body);
      } catch (error) {
        const isBusy = error instanceof ContextError && error.code === "busy";
        if (!isBusy || waitedMs >= busyMsMax) throw error;
      }
      await wait(busyStepMs);
    }
  }

  #openContext(fixed: FixedPart, body: RequestBody): Promise<Context<P>> {
    const { provider, reduction, store, session, onEvent, summarizer } = this.#options;
    const { policy, saving, secrets } = reduction;
    const thinking = body.field("thinking");
    const options: ContextOptions<P> = {
      provider,
      model: fixed.model,
      system: readSystem(fixed.system, fixed.lead),
      tools: this.#tools.options(fixed),
      hiddenTools: hiddenTools(fixed),
      ...(isObject(thinking) ? { thinking: { ...thinking, type: textField(thinking, "type") ?? "" } } : {}),
      contextTokens: (model) => reduction.contextTokens?.(model),
      outputTokensMax: () => this.#limitTokens,
      ...(policy === undefined ? {} : { policy }),
      ...(saving === undefined ? {} : { saving }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(store === undefined ? {} : { store: hidePathsUnless(store, () => this.#namesPaths) }),
      ...(session === undefined ? {} : { session }),
      ...(onEvent === undefined ? {} : { onEvent }),
      ...(summarizer === "own" ? { summarizer: (request: SummaryRequest<P>) => this.#summarize(request) } : {}),
    };
    // A client may run its tools for longer than its conversation is kept open.
    return openContextBy(options, { openCalls: "waiting", digester: this.#options.digester });
  }

  async #summarize(request: SummaryRequest<P>): Promise<Reply<P>> {
    if (this.#askModel === undefined) throw new Error("a summary before the first request");
    return await this.#askModel(request);
  }

  #readFixed(body: RequestBody, { lead }: ClientList): FixedPart {
    const model = body.field("model");
    const { systemField } = this.#format;
    return {
      model: typeof model === "string" ? model : "",
      system: systemField === undefined ? undefined : body.field(systemField),
      lead: lead.map(({ value }) => value),
      tools: body.field("tools"),
    };
  }

  #checkTools(body: RequestBody): void {
    const isRefused = this.#writer.leavesOut(body, "gateway-tools");
    this.#tools.checkForm((name) => body.field(name), isRefused ? "refuses" : "takes");
  }

  /** Names of our own tools whose calls can come back. */
  get #gatewayToolNames(): ReadonlySet<string> {
    return new Set(this.#gatewayTools.map(({ definition }) => definition.name));
  }

  get #gatewayTools(): readonly GatewayTool[] {
    return this.#sent === undefined ? [] : this.#tools.own(this.#sent);
  }

  /** A path helps only a model that has no better way, and a client that can read it. */
  get #namesPaths(): boolean {
    return this.#files === "shared" && !this.#gatewayToolNames.has("recall");
  }

  #write(context: Context<P>, request: NextRequest<P>): PreparedBody {
    const current = this.#list;
    if (current === undefined) throw new TypeError("the conversation was not prepared");
    this.#outgoing = { outgoing: context.outgoing(), request };
    const written = this.#writer.write({ ...current, ...this.#outgoing });
    const own = this.#gatewayTools.map(({ definition }) => this.#format.writeTool(definition));
    const { body } = current;
    const fixed = [this.#sent?.system, this.#sent?.tools];
    const prepared: PreparedBody = {
      ...written,
      tokens: request.tokens,
      windowTokens: this.#windowTokens(),
      gatewayTools: this.#gatewayToolNames,
      moreTokens: (usedTokens) =>
        this.#estimator.compare({ client: body.elements, sent: written.list, fixed, gatewayTools: own }, usedTokens),
    };
    this.#liveByBody.get(body)?.setPrepared(prepared);
    return prepared;
  }

  #windowTokens(): number {
    const model = this.#sent?.model ?? "";
    const settingTokens = this.#options.reduction.contextTokens?.(model);
    return resolveWindow({ model, settingTokens: settingTokens === undefined ? undefined : tokens(settingTokens) })
      .tokens;
  }
}

const isReduced = (context: Pick<Context<Provider>, "receipts">): boolean =>
  context.receipts().some(({ kind, state }) => state === "in force" && reductions.has(kind));

const reductions: ReadonlySet<EditKind> = new Set([
  "offload",
  "clear",
  "server-edits",
  "snip",
  "collapse",
  "leave-out",
  "boundary",
]);
