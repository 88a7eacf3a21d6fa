import type { Context } from "palimpsest/internal/context/context";
import type { NextRequest } from "palimpsest/internal/context/outcomes";
import type { SyncOptions } from "palimpsest/internal/context/inputs";
import type { Params, Provider } from "palimpsest/internal/context/provider-formats";
import { Channel } from "palimpsest/internal/context/channel";
import { openContext } from "palimpsest/internal/open/open-context";
import type { ContextOptions } from "palimpsest/internal/open/options";
import { isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import { findModel } from "palimpsest/internal/tokens/known-models";
import type { RequestBody } from "../body/request-body.ts";
import { type FieldChanges, writeBody } from "../body/write-body.ts";
import { additionalTools } from "../recognise/read-identity.ts";
import type { OwnCall } from "../reply/relay.ts";
import { missingMarks } from "./cache-marks.ts";
import { type ClientList, isUntouched, readClientList, writeClientList, writeView } from "./client-list.ts";
import { type FixedPart, isSameJson, isSameSystem } from "./fixed-part.ts";
import { answerRecall, recallTool, recallToolName } from "./recall-tool.ts";
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
  /** Who marks requests for the provider's cache that the client left without a mark. */
  readonly cacheMarks: "client" | "added";
}

export interface ConversationOptions<P extends Provider> extends Pick<
  ContextOptions<P>,
  "store" | "session" | "onEvent" | "summarizer"
> {
  readonly provider: P;
  readonly reduction: ReductionOptions;
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
 * One conversation of a client: its context, and the client's newest list. Calls come one after the other; the exchange
 * waits for each.
 *
 *   prepare ──▶ (sent upstream) ──▶ record … ──own calls──▶ answer ──▶ next ──▶ (sent) …
 *           ──refused──▶ refused ──▶ next
 */
export class GatewayConversation<P extends Provider> {
  readonly #options: ConversationOptions<P>;
  readonly #format: WireFormat;
  #context: Promise<Context<P>> | undefined;
  #sent: FixedPart | undefined;
  #recording: Recording | undefined;
  /** The newest body and its list. */
  #list: { readonly body: RequestBody; readonly list: ClientList } | undefined;

  constructor(options: ConversationOptions<P>) {
    this.#options = options;
    this.#format = wireFormats[options.provider];
  }

  /** For the reader of the next body. */
  get body(): RequestBody | undefined {
    return this.#list?.body;
  }

  /**
   * Takes over a list and returns the request to send. `previous`: the body that it was read with. Rejects if the context
   * can't take it.
   */
  async prepare({ body, previous, signal }: PrepareInput): Promise<PreparedBody> {
    this.#recording?.leave();
    const isFollowing = previous !== undefined && previous === this.#list?.body;
    const list = readClientList(this.#format, body);
    const context = await this.#open(body, list);
    this.#list = { body, list };
    const reader: WireReader<P> = context;
    const messages = list.elements.map(({ value }) => value);
    const request = await reader.sync(messages, { signal, unchanged: isFollowing ? list.unchanged : 0 });
    return this.#write(context, request);
  }

  /** The next request after a refusal, or with the results of own calls. */
  async next(signal: AbortSignal): Promise<PreparedBody> {
    const context = await this.#require();
    return this.#write(context, await context.next({ signal }));
  }

  /** Whether something plainer can be sent instead. */
  async refused(error: { readonly status: number; readonly body: unknown }): Promise<boolean> {
    const after = await (await this.#require()).refused(error);
    return after.kind === "retry" && after.afterMs === 0;
  }

  /** Records a reply, event by event. */
  async record(): Promise<Recording> {
    const reader: WireReader<P> = await this.#require();
    this.#recording = new Recording((events) => reader.assistantStream(events));
    return this.#recording;
  }

  /** Records a reply that was not streamed. Must not reject: the next list brings it. */
  async recordWhole(reply: JsonObject): Promise<void> {
    const reader: WireReader<P> = await this.#require();
    await reader.assistant(reply).catch(() => undefined);
  }

  async answer(calls: readonly OwnCall[]): Promise<void> {
    const context = await this.#require();
    for (const { id, input } of calls) await context.toolResult(id, await answerRecall(context, input));
  }

  /** The context, if it is open: for costs and receipts. */
  get context(): Promise<Context<P>> | undefined {
    return this.#context;
  }

  /** Its session is free for others until the next request. */
  async close(): Promise<void> {
    this.#recording?.leave();
    const opened = this.#context;
    this.#context = undefined;
    this.#list = undefined;
    this.#sent = undefined;
    await (await opened?.catch(() => undefined))?.close();
  }

  async #require(): Promise<Context<P>> {
    if (this.#context === undefined) throw new TypeError("the conversation was not prepared");
    return await this.#context;
  }

  async #open(body: RequestBody, list: ClientList): Promise<Context<P>> {
    const now = this.#readFixed(body, list);
    const sent = this.#sent;
    this.#sent = now;
    if (this.#context === undefined) {
      const opened = this.#openContext(now, body);
      this.#context = opened;
      try {
        return await opened;
      } catch (error) {
        this.#context = undefined;
        throw error;
      }
    }
    const context = await this.#context;
    if (sent !== undefined && now.model !== sent.model) await context.setModel(now.model);
    if (sent !== undefined && !isSameSystem(now, sent)) await context.setSystem(readSystem(now.system, now.lead));
    if (sent !== undefined && now.tools !== sent.tools && !isSameJson(now.tools, sent.tools))
      await context.setTools(this.#tools(now));
    return context;
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
      tools: this.#tools(fixed),
      hiddenTools: [recallToolName],
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

  #tools({ tools, lead }: FixedPart) {
    const all = [tools, ...lead.map(additionalTools)].flatMap((list) => (isArray(list) ? list : []));
    const client = this.#format.readTools(all);
    return this.#offersRecall(tools) ? [...client, recallTool] : client;
  }

  /** Not to a request without tools, and not beside a tool of the same name. */
  #offersRecall(tools: Json | undefined): boolean {
    if (this.#options.reduction.recall === "off" || !isArray(tools) || tools.length === 0) return false;
    return !this.#format.readTools(tools).some(({ name }) => name === recallToolName);
  }

  /** Whether calls of our own tools can come back. */
  get offersRecall(): boolean {
    return this.#offersRecall(this.#sent?.tools);
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
          : writeClientList(this.#format, { list, outgoing });
    const binding = this.#bindThinking(body);
    const fields = {
      ...this.#toolField(body),
      ...binding.fields,
      ...this.#limitField(body, request.params),
      ...this.#markFields(body),
    };
    const bytes = writeBody(body, { list: elements, fields });
    return { bytes, betas: [...request.betas, ...binding.betas], untouched, tokens: request.tokens };
  }

  #toolField(body: RequestBody): FieldChanges {
    const tools = body.field("tools");
    return this.#offersRecall(tools) && isArray(tools) ? { tools: [...tools, this.#format.writeTool(recallTool)] } : {};
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
  #limitField(body: RequestBody, params: Params<Provider>): FieldChanges {
    const asked = this.#limit(body);
    const fitting = this.#format.limitFields
      .map((name): unknown => Reflect.get(params, name))
      .find((value) => typeof value === "number");
    return asked === undefined || typeof fitting !== "number" || asked.value <= fitting * fittingShare
      ? {}
      : { [asked.name]: Math.min(asked.value, fitting) };
  }

  #markFields(body: RequestBody): FieldChanges {
    const { provider, reduction } = this.#options;
    return provider === "anthropic" && reduction.cacheMarks === "added" ? missingMarks(body) : {};
  }
}

const bindingBeta = "thinking-binding-controls-2026-08-01";

/** Models of today take a limit that does not fit and stop at the window's end. */
const fittingShare = 1;

/** A reply that is being recorded. */
export class Recording {
  readonly #events = new Channel<JsonObject>();
  /** Resolves when what came is stored. Never rejects: the next list brings what could not be recorded. */
  readonly done: Promise<void>;

  constructor(start: (events: AsyncIterable<JsonObject>) => Promise<unknown>) {
    this.done = start(this.#events).then(
      () => undefined,
      () => undefined,
    );
  }

  put(event: JsonObject): void {
    this.#events.put(event);
  }

  /** The reply has ended, or nobody goes on reading it. */
  leave(): void {
    this.#events.close();
  }
}
