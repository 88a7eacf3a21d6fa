import { setTimeout as wait } from "node:timers/promises";
import type { Context } from "palimpsest/internal/context/context";
import { ContextError } from "palimpsest/internal/context/context-error";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { AskModel, SummaryRequest } from "palimpsest/internal/context/summarizer";
import type { MessageDigester } from "palimpsest/internal/context/sync/message-digester";
import { openContextBy } from "palimpsest/internal/open/open-context";
import type { ContextOptions } from "palimpsest/internal/open/options";
import type { Store } from "palimpsest/internal/ports/store";
import { tokens } from "palimpsest/internal/schema/brand";
import type { EditKind } from "palimpsest/internal/schema/edit";
import { isArray, isObject, type Json, textField } from "palimpsest/internal/schema/json";
import { resolveWindow } from "palimpsest/internal/tokens/resolve-window";
import type { RequestBody } from "../body/request-body.ts";
import { additionalTools, billingLine } from "../recognise/read-identity.ts";
import type { ClientList } from "./request/client-list.ts";
import { type ClientTools, type ConversationTools, hiddenTools } from "./request/conversation-tools.ts";
import { GatewayFailure } from "./gateway-failure.ts";
import type { GatewayTool } from "./tools/gateway-tools.ts";
import { busyMsMax, busyStepMs } from "./limits.ts";
import { readLimit, readModel } from "./request/request-writer.ts";
import { readSystem, type WireFormat, wireFormats } from "./request/wire-format.ts";

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

export interface ContextDeps<P extends Provider> extends Pick<ContextOptions<P>, "store" | "session" | "onEvent"> {
  readonly provider: P;
  /** Who writes summaries: the conversation's model, by way of `ContextInput.askModel`. */
  readonly summarizer: "own" | "none";
  readonly reduction: ReductionOptions;
  /** Shared with the one who recognises conversations. */
  readonly digester?: MessageDigester | undefined;
}

export interface ContextInput<P extends Provider> {
  readonly body: RequestBody;
  /** Asks the conversation's model with the credentials of this request. They count until the next one brings others. */
  readonly askModel?: AskModel<P> | undefined;
  /** Whether the client can read what the gateway stores. */
  readonly files: "shared" | "separate";
}

/** The context of one conversation. The first request opens it; each later one tells it what changed besides the list. */
export class ConversationContext<P extends Provider> {
  readonly #options: ContextDeps<P>;
  readonly #format: WireFormat;
  readonly #tools: ConversationTools;
  #opened: Promise<Context<P>> | undefined;
  /** Of the newest request that the context has taken. */
  #fixed: FixedPart | undefined;
  #askModel: AskModel<P> | undefined;
  #files: ContextInput<P>["files"] = "separate";
  /** The limit that the client asked for last. */
  #limitTokens: number | undefined;
  #isClosed = false;

  constructor(options: ContextDeps<P>, tools: ConversationTools) {
    this.#options = options;
    this.#format = wireFormats[options.provider];
    this.#tools = tools;
  }

  /** Undefined if it is not open. */
  get opened(): Promise<Context<P>> | undefined {
    return this.#opened;
  }

  get fixed(): FixedPart | undefined {
    return this.#fixed;
  }

  get gatewayTools(): readonly GatewayTool[] {
    return this.#fixed === undefined ? [] : this.#tools.gatewayTools(this.#fixed);
  }

  get windowTokens(): number {
    const model = this.#fixed?.model ?? "";
    const settingTokens = this.#options.reduction.contextTokens?.(model);
    return resolveWindow({ model, settingTokens: settingTokens === undefined ? undefined : tokens(settingTokens) })
      .tokens;
  }

  async openOrUpdate({ body, askModel, files }: ContextInput<P>, list: ClientList): Promise<Context<P>> {
    this.#askModel = askModel ?? this.#askModel;
    this.#files = files;
    this.#limitTokens = readLimit(this.#format, body)?.value ?? this.#limitTokens;
    const fixed = readFixedPart(this.#format, body, list);
    const context = await (this.#opened === undefined ? this.#open(fixed, body) : this.#update(fixed, this.#opened));
    this.#fixed = fixed;
    return context;
  }

  /** For good: then its session is free for others. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = this.#opened;
    this.#opened = undefined;
    await (await opened?.catch(() => undefined))?.close();
  }

  async #open(fixed: FixedPart, body: RequestBody): Promise<Context<P>> {
    this.#opened = this.#openWhenFree(fixed, body);
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async #update(fixed: FixedPart, opened: Promise<Context<P>>): Promise<Context<P>> {
    const [context, known] = [await opened, this.#fixed];
    if (known === undefined) return context;
    if (fixed.model !== known.model) await context.setModel(fixed.model);
    if (!isSameSystem(fixed, known)) await context.setSystem(readSystem(fixed.system, fixed.preamble));
    if (!isSameTools(fixed, known)) await context.setTools(this.#tools.contextTools(fixed));
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
      system: readSystem(fixed.system, fixed.preamble),
      tools: this.#tools.contextTools(fixed),
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

  async #summarize(request: SummaryRequest<P>): Promise<object> {
    if (this.#askModel === undefined) throw new Error("a summary before the first request");
    return await this.#askModel(request);
  }

  /** A path helps only a model that has no better way, and a client that can read it. */
  get #namesPaths(): boolean {
    return this.#files === "shared" && !this.gatewayTools.some(({ definition }) => definition.name === "recall");
  }
}

/** What a request has besides its list. */
interface FixedPart extends ClientTools {
  readonly model: string;
  readonly system: Json | undefined;
}

const readFixedPart = ({ systemField }: WireFormat, body: RequestBody, { preamble }: ClientList): FixedPart => ({
  model: readModel(body),
  system: systemField === undefined ? undefined : body.field(systemField),
  preamble: preamble.map(({ value }) => value),
  tools: body.field("tools"),
});

/** Bodies of one conversation share the values that did not change, so that identity says most of it. */
export const isSameSystem = (now: FixedPart, sent: FixedPart): boolean =>
  (now.system === sent.system || isSameJson(withoutBilling(now.system), withoutBilling(sent.system))) &&
  isSameList(now.preamble, sent.preamble);

/** A line of Claude Code that is not for the model and changes with the first message. */
function withoutBilling(system: Json | undefined): Json | undefined {
  const [first, ...others] = isArray(system) ? system : [];
  const text = isObject(first) ? textField(first, "text") : undefined;
  return text?.startsWith(billingLine) === true ? others : system;
}

const isSameTools = (now: FixedPart, sent: FixedPart): boolean =>
  (now.tools === sent.tools || isSameJson(now.tools, sent.tools)) &&
  isSameList(preambleTools(now), preambleTools(sent));

const preambleTools = ({ preamble }: FixedPart): readonly Json[] =>
  preamble.flatMap((element) => additionalTools(element) ?? []);

const isSameList = (now: readonly Json[], sent: readonly Json[]): boolean =>
  now.length === sent.length && now.every((value, at) => value === sent[at] || isSameJson(value, sent[at]));

const isSameJson = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/**
 * The store, whose results and transcripts have a path only while `isShown` says so. Else what replaces a result names the id
 * alone, by which `recall` returns it. A path that was named once stays: edits are frozen.
 */
const hidePathsUnless = (store: Store, isShown: () => boolean): Store => ({
  open: async () => {
    const opened = await store.open();
    if (opened.kind === "failed") return opened;
    const { blobs, transcripts } = opened;
    return {
      ...opened,
      ...(blobs.link === undefined
        ? {}
        : { blobs: { ...blobs, link: async (link) => (isShown() ? await blobs.link?.(link) : undefined) } }),
      ...(transcripts.linkTo === undefined
        ? {}
        : { transcripts: { ...transcripts, linkTo: (id) => (isShown() ? transcripts.linkTo?.(id) : undefined) } }),
    };
  },
});

/** Whether an edit that makes requests smaller is in force. */
export const isReduced = (context: Pick<Context<Provider>, "receipts">): boolean =>
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
