import type { Context } from "../../context/context.ts";
import type { SystemOption, ToolOption } from "../../context/inputs.ts";
import type { SyncedRequest } from "../../context/outcomes.ts";
import type { Provider, SyncInput } from "../../context/provider-formats.ts";
import type { AskModel, Summarizer } from "../../context/summarizer.ts";
import { collectValues, hasValues, type MessageValues } from "../../context/sync/message-values.ts";
import type { OutgoingMessage } from "../../context/sync/outgoing-list.ts";
import { openContext } from "../../open/open-context.ts";
import type { ContextOptions } from "../../open/options.ts";

/** Model, system prompt and tools come with each request of the framework. */
export type AdapterOptions<P extends Provider> = Omit<
  ContextOptions<P>,
  "model" | "provider" | "system" | "tools" | "thinking" | "outputTokensMax"
>;

/** Of a framework that names the model with each request: `own` lets that model write the summaries. */
export interface OwnModelOptions<P extends Provider> extends Omit<AdapterOptions<P>, "summarizer"> {
  /** `own`: the conversation's model. By default summaries are made from the messages, by no model. */
  readonly summarizer?: Summarizer<P> | "own";
}

/** A request of the framework, before the context has made it smaller. */
export interface FrameworkRequest<P extends Provider> {
  readonly model: string;
  readonly system: SystemOption;
  readonly tools: readonly ToolOption[];
  readonly messages: readonly SyncInput<P>[];
  readonly thinking?: { readonly type: string } | undefined;
  readonly outputTokensMax?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** `any`: the list may end with a reply that the model is to go on with. */
  readonly ending?: "user" | "any" | undefined;
  /** Asks the model of this request, for the summarizer `own`. */
  readonly askModel?: AskModel<P> | undefined;
}

/** What to send in place of a request of the framework. */
export interface PreparedRequest<P extends Provider> extends SyncedRequest<P> {
  /** The same in the framework's messages, by their index. Undefined: only `params` tells it. */
  readonly outgoing: readonly OutgoingMessage[] | undefined;
}

/** The context of a framework's conversation. It is opened by the first request, which names the model. */
export class AdapterContext<P extends Provider> {
  readonly #provider: P;
  readonly #options: AdapterOptions<P>;
  readonly #first = Promise.withResolvers<Context<P>>();
  #opened: Promise<Context<P>> | undefined;
  #sent: SentPrefix | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #leaveReply: (() => void) | undefined;
  /** The request whose list was taken over last. */
  #newest: FrameworkRequest<P> | undefined;

  constructor(provider: P, { summarizer, ...options }: OwnModelOptions<P>) {
    this.#provider = provider;
    const own: AskModel<P> = async (request) => {
      const ask = this.#newest?.askModel;
      if (ask === undefined) throw new Error("a summary before the first request");
      return await ask(request);
    };
    const chosen = summarizer === "own" ? own : summarizer;
    this.#options = { ...options, ...(chosen === undefined ? {} : { summarizer: chosen }) };
    // Nobody has to wait for it.
    this.#first.promise.catch(() => undefined);
  }

  /** Resolves when the first request is prepared: for receipts, recall, undo and costs. */
  get context(): Promise<Context<P>> {
    return this.#first.promise;
  }

  /** Closes the session, if it was opened. */
  async close(): Promise<void> {
    this.#leaveReply?.();
    await this.#last;
    await (await this.#opened)?.close();
  }

  /** A reply is being read. `leave`: ends its recording, for a reader that neither goes on nor cancels. */
  beginReply(leave: () => void): void {
    this.#leaveReply = leave;
  }

  /** Takes over the request's list and returns the request to send. One after the other, in the order of the calls. */
  sync(request: FrameworkRequest<P>): Promise<PreparedRequest<P>> {
    this.#leaveReply?.();
    return this.#run(() => this.#sync(request));
  }

  /**
   * After the provider refused a request: what to send instead, without what was refused. Undefined if there is nothing, or
   * if the framework has to wait. Another request may have handed over its list meanwhile.
   */
  syncRefused(request: FrameworkRequest<P>, refusal: object): Promise<PreparedRequest<P> | undefined> {
    return this.#run(async () => {
      const context = await this.context;
      if (this.#newest !== request) await this.#sync(request);
      const after = await context.refused(refusal);
      return after.kind === "stop" || after.afterMs > 0 ? undefined : await this.#sync(request);
    });
  }

  #run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #sync(request: FrameworkRequest<P>): Promise<PreparedRequest<P>> {
    this.#newest = request;
    const context = await this.#open(request);
    await this.#follow(context, request);
    const { messages, signal, ending } = request;
    const prepared = await context.sync(messages, { signal, ending });
    return { ...prepared, outgoing: context.outgoing() };
  }

  async #open({ model, system, tools, thinking }: FrameworkRequest<P>): Promise<Context<P>> {
    if (this.#opened === undefined) {
      this.#opened = openContext<P>({
        ...this.#options,
        provider: this.#provider,
        model,
        system,
        tools,
        ...(thinking === undefined ? {} : { thinking }),
        outputTokensMax: () => this.#newest?.outputTokensMax,
      });
      this.#sent = { model, system: collectValues([system]), tools: collectValues(tools) };
    }
    try {
      const context = await this.#opened;
      this.#first.resolve(context);
      return context;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  /** Frameworks send model, system prompt and tools each time; only a change is passed on. */
  async #follow(context: Context<P>, { model, system, tools }: FrameworkRequest<P>): Promise<void> {
    const sent = this.#sent;
    if (sent === undefined) return;
    const hasSystem = hasValues([system], sent.system);
    const hasTools = hasValues(tools, sent.tools);
    this.#sent = {
      model,
      system: hasSystem ? sent.system : collectValues([system]),
      tools: hasTools ? sent.tools : collectValues(tools),
    };
    if (model !== sent.model) await context.setModel(model);
    if (!hasSystem) await context.setSystem(system);
    if (!hasTools) await context.setTools(tools);
  }
}

/** What the last request came with. Compared value by value, which costs less than to print it. */
interface SentPrefix {
  readonly model: string;
  readonly system: MessageValues;
  readonly tools: MessageValues;
}
