import { setTimeout as wait } from "node:timers/promises";
import type { Context } from "palimpsest/internal/context/context";
import { ContextError } from "palimpsest/internal/context/context-error";
import type { NextRequest } from "palimpsest/internal/context/outcomes";
import type { SyncOptions } from "palimpsest/internal/context/inputs";
import { classifyRefusal, type Provider } from "palimpsest/internal/context/provider-formats";
import { openContext } from "palimpsest/internal/open/open-context";
import type { ContextOptions } from "palimpsest/internal/open/options";
import { millis } from "palimpsest/internal/schema/brand";
import type { EditKind } from "palimpsest/internal/schema/edit";
import { isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { RequestBody } from "../body/request-body.ts";
import { type FieldChanges, writeBody } from "../body/write-body.ts";
import type { OwnCall } from "../reply/relay.ts";
import { missingMarks } from "./cache-marks.ts";
import { type ClientList, isUntouched, readClientList, writeClientList, writeView } from "./client-list.ts";
import { ConversationTools, hiddenTools } from "./conversation-tools.ts";
import { type FixedPart, isSameJson, isSameSystem } from "./fixed-part.ts";
import { busyMsMax, busyStepMs, prepareMsMax } from "./limits.ts";
import { answerOwnCalls } from "./own-tools.ts";
import { Recording } from "./recording.ts";
import type { ToolBook } from "./tool-book.ts";
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
  "store" | "session" | "onEvent" | "summarizer"
> {
  readonly provider: P;
  readonly reduction: ReductionOptions;
  /** The program that sends the requests. */
  readonly client?: string | undefined;
  /** Who uses which tools; `who`: the user and the program. */
  readonly toolUse?: { readonly book: ToolBook; readonly who: string } | undefined;
  readonly now: () => number;
}

export interface PrepareInput {
  readonly body: RequestBody;
  readonly previous: RequestBody | undefined;
  readonly signal: AbortSignal;
}

/** A request in the form in which it goes upstream. */
export interface PreparedBody {
  readonly bytes: readonly Uint8Array[];
  /** Values that the `anthropic-beta` header needs besides the client's. */
  readonly betas: readonly string[];
  /** Whether the client's own bytes are sent. */
  readonly untouched: boolean;
  /** The context's estimate. */
  readonly tokens: number;
}

/**
 * One conversation of a client: its context, and the client's newest list.
 *
 *   prepare ──▶ (sent upstream) ──▶ record … ──own calls──▶ answer ──▶ next ──▶ (sent) …
 *           ──refused──▶ refused ──▶ next
 *
 * A client may send a request before it has the reply to another one. The newest request has the context: what an earlier
 * one does from then on rejects, and its reply is not recorded; the client's next list brings it.
 */
export class GatewayConversation<P extends Provider> {
  readonly #options: ConversationOptions<P>;
  readonly #format: WireFormat;
  readonly #tools: ConversationTools;
  #context: Promise<Context<P>> | undefined;
  #sent: FixedPart | undefined;
  #recording: Recording | undefined;
  /** The body of the request that has the context. */
  #current: RequestBody | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  /** When the request that is being prepared began. */
  #preparingSince: number | undefined;
  #isClosed = false;
  /** The newest body that was taken over, and its list. */
  #list: { readonly body: RequestBody; readonly list: ClientList } | undefined;

  constructor(options: ConversationOptions<P>) {
    this.#options = options;
    this.#format = wireFormats[options.provider];
    this.#tools = new ConversationTools(this.#format, options);
  }

  /** For the reader of the next body. */
  get body(): RequestBody | undefined {
    return this.#list?.body;
  }

  /**
   * Takes over a list and returns the request to send. `previous`: the body that it was read with. Rejects if the context
   * can't take it, and at once if one before it never ends.
   */
  prepare(input: PrepareInput): Promise<PreparedBody> {
    if (this.#preparingSince !== undefined && performance.now() - this.#preparingSince > prepareMsMax)
      return Promise.reject(new Error("an earlier request is still being prepared"));
    return this.#inTurn(async () => {
      this.#preparingSince = performance.now();
      try {
        return await this.#prepare(input);
      } finally {
        this.#preparingSince = undefined;
      }
    });
  }

  async #prepare({ body, previous, signal }: PrepareInput): Promise<PreparedBody> {
    signal.throwIfAborted();
    this.#current = body;
    this.#recording?.hurry();
    const isFollowing = previous !== undefined && previous === this.#list?.body;
    const list = readClientList(this.#format, body);
    const { elements, unchanged } = list;
    this.#tools.look(body.field("tools"), { elements, unchanged: isFollowing ? unchanged : 0 });
    const context = await this.#open(body, list);
    this.#list = { body, list };
    const reader: WireReader<P> = context;
    const messages = list.elements.map(({ value }) => value);
    const request = await reader.sync(messages, { signal, unchanged: isFollowing ? list.unchanged : 0 });
    return this.#write(context, request);
  }

  /** The next request after a refusal, or with the results of own calls. */
  next(body: RequestBody, signal: AbortSignal): Promise<PreparedBody> {
    return this.#inTurn(async () => {
      const context = await this.#require(body);
      return this.#write(context, await context.next({ signal }));
    });
  }

  /**
   * Whether something plainer can be sent instead. A refusal that names nothing in the request is no reason to shorten a
   * conversation that is still whole: the client's own request tells whether it was for anything of ours.
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

  /** Records a reply, event by event. Undefined if a newer request has the context. */
  async record(body: RequestBody, onFailure: (error: unknown) => void): Promise<Recording | undefined> {
    const reader: WireReader<P> | undefined = await this.#context;
    if (reader === undefined || this.#current !== body) return undefined;
    this.#recording = new Recording({ start: (events) => reader.assistantStream(events), onFailure });
    return this.#recording;
  }

  /** Records a reply that was not streamed, unless a newer request has the context. */
  async recordWhole(body: RequestBody, reply: JsonObject): Promise<void> {
    const reader: WireReader<P> | undefined = await this.#context;
    if (reader !== undefined && this.#current === body) await reader.assistant(reply);
  }

  answer(body: RequestBody, calls: readonly OwnCall[]): Promise<void> {
    return this.#inTurn(async () => {
      await answerOwnCalls(await this.#require(body), { tools: this.#tools.own(this.#sent?.tools), calls });
    });
  }

  /** The context, if it is open: for costs and receipts. */
  get context(): Promise<Context<P>> | undefined {
    return this.#context;
  }

  /** For good: then its session is free for others. What has come of a reply is stored first. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current = undefined;
    this.#recording?.hurry();
    await this.#recording?.done;
    const opened = this.#context;
    this.#context = undefined;
    await (await opened?.catch(() => undefined))?.close();
  }

  /** Runs calls one after the other: what a request is written with must not change before it is written. */
  #inTurn<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#lastTurn.then(call);
    this.#lastTurn = result.catch(() => undefined);
    return result;
  }

  async #require(body: RequestBody): Promise<Context<P>> {
    const context = await this.#context;
    if (context === undefined || this.#current !== body) throw new Error("a newer request has the conversation");
    return context;
  }

  async #open(body: RequestBody, list: ClientList): Promise<Context<P>> {
    const now = this.#readFixed(body, list);
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
    if (sent !== undefined && now.tools !== sent.tools && !isSameJson(now.tools, sent.tools))
      await context.setTools(this.#tools.options(now.tools, now.lead));
    this.#sent = now;
    return context;
  }

  /** Another program may have the session open for a moment. */
  async #openWhenFree(fixed: FixedPart, body: RequestBody): Promise<Context<P>> {
    for (let waitedMs = 0; ; waitedMs += busyStepMs) {
      if (this.#isClosed) throw new Error("the conversation is closed");
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
    const contextTokens = reduction.contextTokens?.(fixed.model);
    const thinking = body.field("thinking");
    const limit = this.#limit(body)?.value;
    return openContext<P>({
      provider,
      model: fixed.model,
      system: readSystem(fixed.system, fixed.lead),
      tools: this.#tools.options(fixed.tools, fixed.lead),
      hiddenTools: hiddenTools(fixed.tools),
      ...(isObject(thinking) ? { thinking: { ...thinking, type: textField(thinking, "type") ?? "" } } : {}),
      ...(limit === undefined ? {} : { outputTokensMax: Math.min(limit, Math.floor((contextTokens ?? Infinity) / 2)) }),
      ...(contextTokens === undefined ? {} : { contextTokens }),
      ...(policy === undefined ? {} : { policy }),
      ...(saving === undefined ? {} : { saving }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(store === undefined ? {} : { store }),
      ...(session === undefined ? {} : { session }),
      ...(onEvent === undefined ? {} : { onEvent }),
      ...(summarizer === undefined ? {} : { summarizer }),
    });
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

  /** Names of our own tools whose calls can come back. */
  get ownToolNames(): ReadonlySet<string> {
    return new Set(this.#tools.own(this.#sent?.tools).map(({ definition }) => definition.name));
  }

  #write(context: Context<P>, request: NextRequest<P>): PreparedBody {
    const current = this.#list;
    if (current === undefined) throw new TypeError("the conversation was not prepared");
    const { body, list } = current;
    const outgoing = context.outgoing();
    const untouched = outgoing !== undefined && isUntouched(outgoing, list);
    const elements =
      outgoing === undefined
        ? writeView(list, request.params)
        : untouched
          ? body.elements
          : writeClientList(this.#options.provider, { list, outgoing });
    const binding = this.#bindThinking(body);
    const fields = {
      ...this.#tools.field(body.field("tools"), body.field("tool_choice")),
      ...binding.fields,
      ...this.#limitField(body, request.maxTokens),
      ...this.#markFields(body),
    };
    const bytes = writeBody(body, { list: elements, fields });
    return { bytes, betas: [...request.betas, ...binding.betas], untouched, tokens: request.tokens };
  }

  /** The model may have bound its thinking to what was before it: then an edit would make the whole request invalid. */
  #bindThinking(body: RequestBody): { readonly fields: FieldChanges; readonly betas: readonly string[] } {
    const thinking = body.field("thinking");
    const model = body.field("model");
    const isBound = typeof model === "string" && findModel(model)?.thinking === "bound";
    if (!isBound || !isObject(thinking) || thinking["block_binding"] !== undefined) return { fields: {}, betas: [] };
    const block_binding = { prefix_mismatch_behavior: "drop_block" };
    return { fields: { thinking: { ...thinking, block_binding } }, betas: [bindingBeta] };
  }

  #limit(body: RequestBody): { readonly name: string; readonly value: number } | undefined {
    for (const name of this.#format.limitFields) {
      const value = body.field(name);
      if (typeof value === "number" && value > 0) return { name, value };
    }
    return undefined;
  }

  /** Only if the reply would not fit: a limit that changes with each request breaks the cache of some models. */
  #limitField(body: RequestBody, fittingTokens: number): FieldChanges {
    const asked = this.#limit(body);
    return asked === undefined || asked.value <= fittingTokens
      ? {}
      : { [asked.name]: Math.min(asked.value, fittingTokens) };
  }

  #markFields(body: RequestBody): FieldChanges {
    const { provider, reduction } = this.#options;
    return provider === "anthropic" && reduction.cacheMarks === "added" ? missingMarks(body) : {};
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

const bindingBeta = "thinking-binding-controls-2026-08-01";
