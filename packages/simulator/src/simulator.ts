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
import {
  chooseFault,
  type EarlyOutcome,
  earlyFault,
  canStrike,
  hasFaultStruck,
  unfitFaultRefusal,
} from "./fault/early-fault.ts";
import { Placeholders } from "./editing/context-edits.ts";
import { type ExchangeOutcome, exchange, type ExchangeDeps, type ExchangeInput } from "./exchange.ts";
import type { Fault } from "./fault/fault.ts";
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

/** One request, already read: the simulator knows no transport. Bodies are values: who changes one later breaks its own cache. */
export interface ApiCall {
  readonly body: Json;
  readonly headers: HeaderSource;
  /** Raised when the client goes. */
  readonly signal?: AbortSignal;
}

/** A Messages API in this process: the same whether it is asked over HTTP (`http/app.ts`) or directly. */
export class Simulator {
  readonly clock: SimulatorClock;
  readonly cache = new PromptCache();
  readonly #options: SimulatorOptions;
  readonly #offer: ServerOffer;
  readonly #seed: number;
  readonly #shapes = new RequestShapes();
  readonly #interned = new BodyInterner();
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
      isBound: (id) => this.#model(id)?.thinking === "bound",
      trace: options.trace,
    };
  }

  /** The same actor, clock and faults behind OpenAI's form of an API. */
  get openai(): OpenAiApi {
    const { responder: actor, clock, trace } = this.#deps;
    const { models = [], faults } = this.#options;
    const nextRequest = (): number => (this.#requests += 1);
    this.#openai ??= new OpenAiApi({ responder: actor, clock, seed: this.#seed, models, faults, trace, nextRequest });
    return this.#openai;
  }

  /** Blocks that had to be hashed so far: grows with what is new, not with what is sent. */
  get hashedBlocks(): number {
    return this.#deps.prompts.hashed;
  }

  async messages(call: ApiCall): Promise<Answer> {
    const start = this.#start(messagesPath, call);
    if (start.kind === "ended") return start.answer;
    const { asked } = start;
    const opened = this.#threads.open({ ...asked, body: call.body });
    if (opened.kind === "refused") return this.#refuse(asked, opened);
    const answer = await this.#reply({ ...call, body: opened.body }, { ...asked, settle: opened.turn?.settle });
    if (answer.kind !== "stream") opened.turn?.settle(undefined);
    return answer;
  }

  /** To a request that is whole. */
  async #reply(call: ApiCall, asked: RequestContext & Pick<ExchangeInput, "settle">): Promise<Answer> {
    const body = this.#interned.reuseKnown(call.body);
    const shape = this.#shapes.messages(body);
    if (shape.kind === "refused") return this.#refuse(asked, shape);
    const { request } = shape;
    const model = this.#model(request.model, asked.betas);
    if (model === undefined) return this.#refuse(asked, unknownModel(request.model));
    const input = { ...asked, body: isObject(body) ? body : {}, request, model, signal: call.signal };
    try {
      const outcome = await exchange(this.#deps, input);
      if (outcome.kind === "message" || outcome.kind === "stream") this.#interned.remember(input.body);
      return this.#answer(asked, outcome);
    } catch (error) {
      // Actors are other people's code: their mistake is told to who can mend it, and stays this request's own.
      return this.#refuse(asked, refusal("api_error", `The actor failed: ${String(error)}`));
    }
  }

  countTokens(call: ApiCall): Answer {
    const start = this.#start("/v1/messages/count_tokens", call);
    if (start.kind === "ended") return start.answer;
    const { asked } = start;
    const shape = this.#shapes.count(call.body);
    if (shape.kind === "refused") return this.#refuse(asked, shape);
    const { request } = shape;
    const model = this.#model(request.model, asked.betas);
    if (model === undefined) return this.#refuse(asked, unknownModel(request.model));
    const counted = admit(this.#deps, { ...asked, request, model, endpoint: "count_tokens" });
    if (counted.kind === "refused") return this.#refuse(asked, counted);
    const reply = countReply(counted, request);
    this.#traceRequest(asked, { model: model.id, prompt: counted.prompt });
    const outcome = cutPlace(asked.fault) === undefined ? "delivered" : "broken";
    void this.#options.trace?.reply({ n: asked.n, status: 200, outcome, inputTokens: reply.input_tokens });
    return this.#body(asked, reply);
  }

  models(call: Omit<ApiCall, "body">, query: ModelsQuery): Answer {
    const start = this.#start("/v1/models", { ...call, body: {} });
    if (start.kind === "ended") return start.answer;
    const page = modelsPage(this.#allModels(), { ...query, ...this.#offer });
    return page.kind === "refused" ? this.#refuse(start.asked, page) : this.#body(start.asked, page.body);
  }

  model(call: Omit<ApiCall, "body">, id: string): Answer {
    const start = this.#start("/v1/models", { ...call, body: {} });
    if (start.kind === "ended") return start.answer;
    const model = this.#model(id);
    return model === undefined
      ? this.#refuse(start.asked, unknownModel(id))
      : this.#body(start.asked, modelInfo(model, this.#offer));
  }

  /** For what goes wrong before there is a call: a body that is no JSON, a path that does not exist. */
  refuse(refused: Refusal, endpoint = ""): Answer {
    return this.#refuse(this.#number(endpoint, {}), refused);
  }

  #start(endpoint: string, { headers, body }: ApiCall): StartOutcome {
    if (isTooDeep(body)) return { kind: "ended", answer: this.refuse(tooDeepRefusal(), endpoint) };
    const numbered = this.#number(endpoint, body);
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
    const asked = { ...numbered, at: this.clock.now(), fault, workspace, betas };
    // A fault comes before the rules, as a gateway's does.
    const early = earlyFault(fault, form);
    if (early !== undefined) return { kind: "ended", answer: this.#early(asked, early) };
    if (read.kind === "refused") return { kind: "ended", answer: this.#refuse(asked, read) };
    return { kind: "started", asked };
  }

  #number(endpoint: string, body: Json): RequestContext {
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

  #answer(asked: RequestContext, outcome: ExchangeOutcome): Answer {
    switch (outcome.kind) {
      case "refused":
        return this.#refused(asked, outcome);
      case "dropped":
      case "silence":
        return outcome;
      case "message":
        return this.#body(asked, outcome.message, outcome.headers);
      case "cut":
        return { ...outcome, body: outcome.message, headers: { ...this.#headers(asked), ...outcome.headers } };
      case "stream":
        return { ...outcome, headers: { ...this.#headers(asked), ...outcome.headers } };
    }
  }

  #early(asked: RequestContext, outcome: EarlyOutcome): Answer {
    const { n } = asked;
    this.#traceRequest(asked, this.#options.trace === undefined ? {} : this.#promptOf(asked));
    if (outcome.kind !== "refused") {
      void this.#options.trace?.reply({ n, status: 0, outcome: "broken" });
      return outcome;
    }
    void this.#options.trace?.reply({ n, status: outcome.status, outcome: "refused", error: outcome });
    return this.#refused(asked, outcome);
  }

  /** What a request that a fault met would have become; nothing where a rule would have refused it. */
  #promptOf(asked: RequestContext): TraceDetails {
    const { endpoint, workspace, betas } = asked;
    if (endpoint !== messagesPath || workspace === "") return {};
    const body = this.#threads.preview(asked);
    const shape = this.#shapes.messages(this.#interned.reuseKnown(body));
    const model = shape.kind === "refused" ? undefined : this.#model(shape.request.model, betas);
    if (shape.kind === "refused" || model === undefined) return {};
    const input = { endpoint: "messages", request: shape.request, model, workspace, betas } as const;
    const admitted = admit(this.#deps, input);
    return admitted.kind === "refused" ? {} : { model: model.id, prompt: admitted.prompt, body };
  }

  #refuse(asked: RequestContext, refused: Refusal): Answer {
    this.#traceRequest(asked, {});
    void this.#options.trace?.reply({ n: asked.n, status: refused.status, outcome: "refused", error: refused });
    return this.#refused(asked, refused);
  }

  /** As far as it is known: one that was refused early has named no model that is one. */
  #traceRequest(asked: RequestContext, known: TraceDetails): void {
    const { n, requestId: id, at, endpoint, workspace, betas, body, fault } = asked;
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

  #refused(asked: RequestContext, refused: Refusal): Answer {
    const { status, retryAfterSeconds } = refused;
    const headers = {
      ...this.#headers(asked),
      ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    };
    return { kind: "body", status, headers, body: errorBody(refused, asked.requestId) };
  }

  #body(asked: RequestContext, body: object, more: AnswerHeaders = {}): Answer {
    const headers = { ...this.#headers(asked), ...more };
    const place = cutPlace(asked.fault);
    return place === undefined ? { kind: "body", status: 200, headers, body } : { kind: "cut", headers, body, place };
  }

  #headers({ requestId, n }: RequestContext): AnswerHeaders {
    return {
      "request-id": requestId,
      [reportHeaders.number]: String(n),
      [reportHeaders.now]: new Date(this.clock.now()).toISOString(),
    };
  }

  /** With the window that its betas ask for. */
  #model(name: string, betas: ReadonlySet<string> = new Set()): Model | undefined {
    const model = this.#modelNamed(name);
    const isLarge = model !== undefined && betas.has(millionBeta) && hasMillionBeta(model);
    return isLarge ? { ...model, windowTokens: windowTokensMillion } : model;
  }

  /** By its id, with a date behind it if one likes: unlike the engine, the API takes no other form of a name. */
  #modelNamed(name: string): Model | undefined {
    const known = this.#modelByName.peek(name);
    if (known !== undefined) return known;
    const model = findModel(name, this.#options.models);
    if (model === undefined || !this.#isServed(model.id) || !name.startsWith(model.id)) return undefined;
    if (!nameEnd.test(name.slice(model.id.length))) return undefined;
    this.#modelByName.set(name, model);
    return model;
  }

  /** This API's own, and whatever was added to them. */
  #isServed(id: string): boolean {
    return id.startsWith("claude-") || (this.#options.models ?? []).some((added) => added.id === id);
  }

  #allModels(): readonly Model[] {
    const ids = new Set([...knownModels, ...(this.#options.models ?? [])].map(({ id }) => id));
    return [...ids].flatMap((id) => this.#model(id) ?? []);
  }
}

const nameEnd = /^(?:-\d{8}|-latest)?$/;

/** What is known of a request from its first moment on; more of it once its headers are read. */
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

/** Of a request, as far as it came. */
interface TraceDetails {
  readonly model?: string;
  readonly prompt?: Prompt;
  /** Whole, where a thread held a part of it. */
  readonly body?: JsonObject;
}

const messagesPath = "/v1/messages";

type StartOutcome =
  | { readonly kind: "ended"; readonly answer: Answer }
  | { readonly kind: "started"; readonly asked: RequestContext };

/** What a count answers. It ignores the thinking of earlier turns, whatever the model and whatever is edited. */
function countReply({ prompt, edits }: AdmittedRequest, { messages }: CountRequest): CountReply {
  const counted = (of: Prompt): number => of.tokens - earlierThinkingTokens(of, messages);
  return {
    input_tokens: counted(prompt),
    ...(edits === undefined ? {} : { context_management: { original_input_tokens: counted(edits.original) } }),
  };
}
