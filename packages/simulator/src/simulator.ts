import type { Millis } from "palimpsest/internal/schema/brand";
import { isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { Model } from "palimpsest/internal/schema/model";
import { windowTokensMillion } from "palimpsest/internal/tokens/limits";
import { findModel, hasMillionBeta, knownModels, millionBeta } from "palimpsest/internal/tokens/known-models";
import { echoResponder } from "./responder/echo-responder.ts";
import type { Answer, AnswerHeaders } from "./answer.ts";
import { Fingerprints } from "./prompt/fingerprints.ts";
import { PromptCache } from "palimpsest/internal/cache/prompt-cache";
import { type SimulatorClock, virtualClock } from "./simulator-clock.ts";
import { CompactionSeal } from "./compaction/compaction-seal.ts";
import { type HeaderSource, readControl, reportHeaders, readHeaders } from "./request-headers.ts";
import { isTooDeep, tooDeepRefusal, errorBody, type Refusal, refusal } from "./refusal.ts";
import { cutPlace } from "./reply/deliver.ts";
import { Placeholders } from "./editing/context-edits.ts";
import { type ExchangeOutcome, exchange, type ExchangeDeps, type ExchangeInput } from "./exchange.ts";
import {
  chooseFault,
  type EarlyOutcome,
  earlyFault,
  canStrike,
  hasFaultStruck,
  unfitFaultRefusal,
  type Fault,
} from "./fault/fault.ts";
import { shortHash } from "./prompt/canonical-block.ts";
import { BodyInterner } from "./prompt/body-interner.ts";
import { extension } from "./extension.ts";
import { modelInfo, modelsPage, type ModelsQuery, type ServerOffer, unknownModel } from "./models-page.ts";
import { checkOptions, type SimulatorOptions } from "./simulator-options.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { PromptReader, earlierThinkingTokens } from "./prompt/prompt-reader.ts";
import { admit, type AdmittedRequest } from "./admit.ts";
import { modelNamesMax } from "./limits.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";
import { OpenAiApi } from "./openai/open-ai-api.ts";
import { ThinkingSeal } from "./prompt/thinking-seal.ts";
import { Threads } from "./threads.ts";
import { RequestShapes } from "./validate/request-shapes.ts";
import type { CountReply } from "palimpsest/internal/schema/wire/reply-message";
import type { CountRequest } from "palimpsest/internal/schema/wire/messages-request";

/**
 * One request, already read: the simulator knows no transport. Bodies are values: a caller that changes one later
 * breaks its own cache.
 */
export interface ApiCall {
  readonly body: Json;
  readonly headers: HeaderSource;
  /** Aborted when the client goes away. */
  readonly signal?: AbortSignal;
}

/**
 * A Messages API in this process. It answers the same whether it is called over HTTP (`http/create-app.ts`) or
 * directly.
 */
export class Simulator {
  readonly clock: SimulatorClock;
  readonly cache = new PromptCache();
  readonly #options: SimulatorOptions;
  readonly #offer: ServerOffer;
  readonly #seed: number;
  readonly #shapes = new RequestShapes();
  readonly #interner = new BodyInterner();
  readonly #modelByName = new LruMap<string, Model>(modelNamesMax);
  readonly #threads = new Threads(() => this.clock.now());
  readonly #deps: ExchangeDeps;
  #openai: OpenAiApi | undefined;
  #requests = 0;

  constructor(options: SimulatorOptions = {}) {
    checkOptions(options);
    this.#options = options;
    this.#offer = extension.offer(options);
    this.#seed = options.seed ?? 0;
    this.clock = options.clock ?? virtualClock();
    this.#deps = {
      responder: options.responder ?? echoResponder,
      clock: this.clock,
      cache: this.cache,
      fingerprints: new Fingerprints(),
      prompts: new PromptReader(),
      placeholders: new Placeholders(),
      seal: new ThinkingSeal(this.#seed),
      compactions: new CompactionSeal(this.#seed),
      binding: options.binding ?? "enforced",
      isBound: (id) => this.#findModel(id)?.thinking === "bound",
      trace: options.trace,
    };
  }

  /** OpenAI's API over the same responder, clock and faults. */
  get openai(): OpenAiApi {
    const { responder, clock, trace } = this.#deps;
    const { models = [], faults } = this.#options;
    const nextRequest = (): number => (this.#requests += 1);
    this.#openai ??= new OpenAiApi({ responder, clock, seed: this.#seed, models, faults, trace, nextRequest });
    return this.#openai;
  }

  /** Number of blocks that had to be hashed so far. It grows with what is new, not with what is sent. */
  get hashedBlocks(): number {
    return this.#deps.prompts.hashed;
  }

  async messages(call: ApiCall): Promise<Answer> {
    const start = this.#start(messagesPath, call);
    if (start.kind === "ended") return start.answer;
    const { context } = start;
    const opened = this.#threads.open({ ...context, body: call.body });
    if (opened.kind === "refused") return this.#refuse(context, opened);
    const answer = await this.#reply({ ...call, body: opened.body }, { ...context, settle: opened.turn?.settle });
    if (answer.kind !== "stream") opened.turn?.settle(undefined);
    return answer;
  }

  /** Answers a request whose body is complete: a thread's messages are already in it. */
  async #reply(call: ApiCall, context: RequestContext & Pick<ExchangeInput, "settle">): Promise<Answer> {
    const body = this.#interner.reuseKnown(call.body);
    const shape = this.#shapes.messages(body);
    if (shape.kind === "refused") return this.#refuse(context, shape);
    const { request } = shape;
    const model = this.#findModel(request.model, context.betas);
    if (model === undefined) return this.#refuse(context, unknownModel(request.model));
    const input = { ...context, body: isObject(body) ? body : {}, request, model, signal: call.signal };
    try {
      const outcome = await exchange(this.#deps, input);
      if (outcome.kind === "message" || outcome.kind === "stream") this.#interner.remember(input.body);
      return this.#answer(context, outcome);
    } catch (error) {
      // Responders are code of the user: the client is told about the error, and other requests are not affected.
      return this.#refuse(context, refusal("api_error", `The responder failed: ${String(error)}`));
    }
  }

  countTokens(call: ApiCall): Answer {
    const start = this.#start("/v1/messages/count_tokens", call);
    if (start.kind === "ended") return start.answer;
    const { context } = start;
    const shape = this.#shapes.count(call.body);
    if (shape.kind === "refused") return this.#refuse(context, shape);
    const { request } = shape;
    const model = this.#findModel(request.model, context.betas);
    if (model === undefined) return this.#refuse(context, unknownModel(request.model));
    const counted = admit(this.#deps, { ...context, request, model, endpoint: "count_tokens" });
    if (counted.kind === "refused") return this.#refuse(context, counted);
    const reply = countReply(counted, request);
    this.#traceRequest(context, { model: model.id, prompt: counted.prompt });
    const outcome = cutPlace(context.fault) === undefined ? "delivered" : "broken";
    void this.#options.trace?.reply({ n: context.n, status: 200, outcome, inputTokens: reply.input_tokens });
    return this.#body(context, reply);
  }

  models(call: Omit<ApiCall, "body">, query: ModelsQuery): Answer {
    const start = this.#start("/v1/models", { ...call, body: {} });
    if (start.kind === "ended") return start.answer;
    const page = modelsPage(this.#allModels(), { ...query, ...this.#offer });
    return page.kind === "refused" ? this.#refuse(start.context, page) : this.#body(start.context, page.body);
  }

  model(call: Omit<ApiCall, "body">, id: string): Answer {
    const start = this.#start("/v1/models", { ...call, body: {} });
    if (start.kind === "ended") return start.answer;
    const model = this.#findModel(id);
    return model === undefined
      ? this.#refuse(start.context, unknownModel(id))
      : this.#body(start.context, modelInfo(model, this.#offer));
  }

  /** For errors before there is a call: a body that is not JSON, a path that does not exist. */
  refuse(refused: Refusal, endpoint = ""): Answer {
    return this.#refuse(this.#numberRequest(endpoint, {}), refused);
  }

  #start(endpoint: string, { headers, body }: ApiCall): StartOutcome {
    if (isTooDeep(body)) return { kind: "ended", answer: this.refuse(tooDeepRefusal(), endpoint) };
    const numbered = this.#numberRequest(endpoint, body);
    const control = readControl(headers);
    if (control.kind === "refused") return { kind: "ended", answer: this.#refuse(numbered, control) };
    const form = endpoint === messagesPath && isObject(body) && body["stream"] === true ? "stream" : "json";
    if (control.fault !== undefined && !canStrike(control.fault, form))
      return { kind: "ended", answer: this.#refuse(numbered, unfitFaultRefusal(control.fault)) };
    this.clock.advance(control.advanceMillis);
    const fault = control.fault ?? chooseFault(this.#options.faults, { n: numbered.n, form });
    if (fault?.kind === "clock-jump") this.clock.advance(fault.byMs);
    if (fault?.kind === "cache-lost") this.cache.lose();
    const read = readHeaders(headers, this.#offer.betas);
    const { workspace, betas } = read.kind === "refused" ? numbered : read;
    const context = { ...numbered, at: this.clock.now(), fault, workspace, betas };
    // A fault comes before validation, as a gateway's does.
    const early = earlyFault(fault, form);
    if (early !== undefined) return { kind: "ended", answer: this.#answerEarly(context, early) };
    if (read.kind === "refused") return { kind: "ended", answer: this.#refuse(context, read) };
    return { kind: "started", context };
  }

  #numberRequest(endpoint: string, body: Json): RequestContext {
    this.#requests += 1;
    const n = this.#requests;
    const id = (kind: string): string => `${kind}_${shortHash(`${this.#seed} ${n} ${kind}`)}`;
    return {
      n,
      seed: this.#seed,
      requestId: id("req"),
      messageId: id("msg"),
      at: this.clock.now(),
      endpoint,
      body: isObject(body) ? body : {},
      fault: undefined,
      workspace: "",
      betas: new Set(),
    };
  }

  #answer(context: RequestContext, outcome: ExchangeOutcome): Answer {
    switch (outcome.kind) {
      case "refused":
        return this.#refusalAnswer(context, outcome);
      case "dropped":
      case "silence":
        return outcome;
      case "message":
        return this.#body(context, outcome.message, outcome.headers);
      case "cut":
        return { ...outcome, body: outcome.message, headers: { ...this.#headers(context), ...outcome.headers } };
      case "stream":
        return { ...outcome, headers: { ...this.#headers(context), ...outcome.headers } };
    }
  }

  #answerEarly(context: RequestContext, outcome: EarlyOutcome): Answer {
    const { n } = context;
    this.#traceRequest(context, this.#options.trace === undefined ? {} : this.#promptDetails(context));
    if (outcome.kind !== "refused") {
      void this.#options.trace?.reply({ n, status: 0, outcome: "broken" });
      return outcome;
    }
    void this.#options.trace?.reply({ n, status: outcome.status, outcome: "refused", error: outcome });
    return this.#refusalAnswer(context, outcome);
  }

  /** The prompt of a request that was stopped by a fault; empty if a rule would have refused the request. */
  #promptDetails(context: RequestContext): TraceDetails {
    const { endpoint, workspace, betas } = context;
    if (endpoint !== messagesPath || workspace === "") return {};
    const body = this.#threads.preview(context);
    const shape = this.#shapes.messages(this.#interner.reuseKnown(body));
    const model = shape.kind === "refused" ? undefined : this.#findModel(shape.request.model, betas);
    if (shape.kind === "refused" || model === undefined) return {};
    const input = { endpoint: "messages", request: shape.request, model, workspace, betas } as const;
    const admitted = admit(this.#deps, input);
    return admitted.kind === "refused" ? {} : { model: model.id, prompt: admitted.prompt, body };
  }

  #refuse(context: RequestContext, refused: Refusal): Answer {
    this.#traceRequest(context, {});
    void this.#options.trace?.reply({ n: context.n, status: refused.status, outcome: "refused", error: refused });
    return this.#refusalAnswer(context, refused);
  }

  /** Traces what is known. A request that was refused early may name a model that does not exist. */
  #traceRequest(context: RequestContext, known: TraceDetails): void {
    const { n, requestId: id, at, endpoint, workspace, betas, body, fault } = context;
    const faults = fault !== undefined && hasFaultStruck(fault) ? [fault] : [];
    const model = known.model ?? textField(body, "model") ?? "";
    void this.#options.trace?.request({
      n,
      id,
      at,
      endpoint,
      workspace,
      betas: [...betas],
      body,
      faults,
      ...known,
      model,
    });
  }

  #refusalAnswer(context: RequestContext, refused: Refusal): Answer {
    const { status, retryAfterSeconds } = refused;
    const headers = {
      ...this.#headers(context),
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    };
    return { kind: "body", status, headers, body: errorBody(refused, context.requestId) };
  }

  #body(context: RequestContext, body: object, more: AnswerHeaders = {}): Answer {
    const headers = { ...this.#headers(context), ...more };
    const place = cutPlace(context.fault);
    return place === undefined ? { kind: "body", status: 200, headers, body } : { kind: "cut", headers, body, place };
  }

  #headers({ requestId, n }: RequestContext): AnswerHeaders {
    return {
      "request-id": requestId,
      [reportHeaders.number]: String(n),
      [reportHeaders.now]: new Date(this.clock.now()).toISOString(),
    };
  }

  /** The model, with the window that the betas ask for. */
  #findModel(name: string, betas: ReadonlySet<string> = new Set()): Model | undefined {
    const model = this.#findModelByName(name);
    const isLarge = model !== undefined && betas.has(millionBeta) && hasMillionBeta(model);
    return isLarge ? { ...model, windowTokens: windowTokensMillion } : model;
  }

  /**
   * Finds a model by its id, optionally with a date behind it. Unlike the engine, the API accepts no other form of a
   * name.
   */
  #findModelByName(name: string): Model | undefined {
    const known = this.#modelByName.peek(name);
    if (known !== undefined) return known;
    const model = findModel(name, this.#options.models);
    if (model === undefined || !this.#isServed(model.id) || !name.startsWith(model.id)) return undefined;
    if (!nameEnd.test(name.slice(model.id.length))) return undefined;
    this.#modelByName.set(name, model);
    return model;
  }

  /** Whether the API serves it: one of its own models or one that was added. */
  #isServed(id: string): boolean {
    return id.startsWith("claude-") || (this.#options.models ?? []).some((added) => added.id === id);
  }

  #allModels(): readonly Model[] {
    const ids = new Set([...knownModels, ...(this.#options.models ?? [])].map(({ id }) => id));
    return [...ids].flatMap((id) => this.#findModel(id) ?? []);
  }
}

const nameEnd = /^(?:-\d{8}|-latest)?$/;

/** What is known of a request from its first moment on, and more once its headers are read. */
interface RequestContext {
  readonly n: number;
  readonly seed: number;
  readonly requestId: string;
  readonly messageId: string;
  readonly at: Millis;
  readonly endpoint: string;
  readonly body: JsonObject;
  readonly fault: Fault | undefined;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

/** What is known of a request for its trace. */
interface TraceDetails {
  readonly model?: string;
  readonly prompt?: Prompt;
  /** The complete body, if a thread held a part of it. */
  readonly body?: JsonObject;
}

const messagesPath = "/v1/messages";

type StartOutcome =
  | { readonly kind: "ended"; readonly answer: Answer }
  | { readonly kind: "started"; readonly context: RequestContext };

/**
 * The answer of `count_tokens`. The API ignores the thinking of earlier turns there, whatever the model and the edits
 * are.
 */
function countReply({ prompt, edits }: AdmittedRequest, { messages }: CountRequest): CountReply {
  const counted = (of: Prompt): number => of.tokens - earlierThinkingTokens(of, messages);
  return {
    input_tokens: counted(prompt),
    ...(edits === undefined ? {} : { context_management: { original_input_tokens: counted(edits.original) } }),
  };
}
