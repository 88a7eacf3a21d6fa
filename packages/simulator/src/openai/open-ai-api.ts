import { createHash } from "node:crypto";
import type { Millis } from "palimpsest/internal/schema/brand";
import { isObject, type Json, textField } from "palimpsest/internal/schema/json";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { Responder } from "../responder/responder.ts";
import type { AnswerHeaders, OpenAiAnswer } from "../answer.ts";
import type { SimulatorClock } from "../simulator-clock.ts";
import { type HeaderSource, readControl, reportHeaders } from "../request-headers.ts";
import { cutPlace } from "../reply/deliver.ts";
import { isTooDeep, tooDeepRefusal, type Refusal } from "../refusal.ts";
import {
  chooseFault,
  earlyFault,
  canStrike,
  type ReplyForm,
  unfitFaultRefusal,
  type Fault,
  type FaultChoice,
} from "../fault/fault.ts";
import { shortHash } from "../prompt/canonical-block.ts";
import type { TraceWriter } from "../trace/trace-writer.ts";
import { OpenAiCache, OpenAiFingerprints, priceRuns } from "./open-ai-cache.ts";
import { readChat } from "./read-chat.ts";
import {
  compactionUnavailableCode,
  openAiErrorBody,
  missingKey,
  type OpenAiRefusal,
  refuseRequest,
  translateRefusal,
  modelNotFound,
} from "./open-ai-refusal.ts";
import { admitRequest, type OpenAiEarlyOutcome, OpenAiExchange, type OpenAiExchangeDeps } from "./open-ai-exchange.ts";
import { type OpenAiRequest, type ReadRequestOutcome, resolveServiceTier } from "./open-ai-request.ts";
import { type OpenAiModel, OpenAiModels } from "./open-ai-models.ts";
import { createKnownSlices } from "./open-ai-prompt.ts";
import { deliverReply, type OpenAiReply, traceRuns } from "./deliver-reply.ts";
import { readCompact, readInputTokens, readResponses } from "./read-responses.ts";
import { ItemSeal } from "./output.ts";
import { ResponseStore } from "./response-store.ts";

interface OpenAiApiDeps {
  readonly responder: Responder;
  readonly clock: SimulatorClock;
  readonly seed: number;
  /** Added to the known models. */
  readonly models: readonly ModelOverride[];
  readonly faults: FaultChoice | undefined;
  readonly trace: TraceWriter | undefined;
  /** The number of the next request, counted over all APIs of a simulator. */
  readonly nextRequest: () => number;
}

/** One request, already read: this API knows no transport either. */
export interface OpenAiCall {
  readonly body: Json;
  readonly headers: HeaderSource;
  readonly signal?: AbortSignal;
}

/**
 * Chat completions and responses over the same responder as the Messages API, with a cache and a store of their own.
 */
export class OpenAiApi {
  readonly cache = new OpenAiCache();
  readonly #deps: OpenAiApiDeps;
  readonly #exchange: OpenAiExchangeDeps;
  readonly #models: OpenAiModels;

  constructor(deps: OpenAiApiDeps) {
    this.#deps = deps;
    this.#models = new OpenAiModels(deps.models);
    this.#exchange = {
      responder: deps.responder,
      clock: deps.clock,
      seed: deps.seed,
      cache: this.cache,
      fingerprints: new OpenAiFingerprints(),
      store: new ResponseStore(),
      seal: new ItemSeal(deps.seed),
      known: createKnownSlices(),
    };
  }

  chatCompletions(call: OpenAiCall): Promise<OpenAiAnswer> {
    return this.#reply(call, { endpoint: "/v1/chat/completions", prefix: "chatcmpl-", read: readChat });
  }

  responses(call: OpenAiCall): Promise<OpenAiAnswer> {
    return this.#reply(call, { endpoint: "/v1/responses", prefix: "resp_", read: readResponses });
  }

  compact(call: OpenAiCall): Promise<OpenAiAnswer> {
    return this.#reply(call, { endpoint: "/v1/responses/compact", prefix: "resp_", read: readCompact });
  }

  inputTokens(call: OpenAiCall): OpenAiAnswer {
    const start = this.#start(call, "/v1/responses/input_tokens");
    if (start.kind === "ended") return start.answer;
    const { context } = start;
    const read = readInputTokens(call.body, this.#models.all()[0]?.id ?? "");
    const known = this.#resolveModel(read);
    if (known.kind === "refused") return this.#refuse(context, known);
    const admitted = admitRequest(this.#exchange, { ...known, workspace: context.workspace });
    if (admitted.kind === "refused") return this.#refuse(context, admitted);
    const { tokens } = admitted.prompt;
    this.#traceEnd(context, { status: 200, outcome: "delivered", inputTokens: tokens });
    return this.#body(context, { object: "response.input_tokens", input_tokens: tokens });
  }

  /** Returns a stored response. */
  response(call: Omit<OpenAiCall, "body">, id: string): OpenAiAnswer {
    return this.#answerStored(call, { id, answer: (body) => body });
  }

  deleteResponse(call: Omit<OpenAiCall, "body">, id: string): OpenAiAnswer {
    return this.#answerStored(call, {
      id,
      answer: () => {
        this.#exchange.store.delete(id);
        return { id, object: "response", deleted: true };
      },
    });
  }

  models(call: Omit<OpenAiCall, "body">): OpenAiAnswer {
    const start = this.#start({ ...call, body: {} }, "/v1/models");
    if (start.kind === "ended") return start.answer;
    return this.#body(start.context, { object: "list", data: this.#models.all().map(modelBody) });
  }

  model(call: Omit<OpenAiCall, "body">, id: string): OpenAiAnswer {
    const start = this.#start({ ...call, body: {} }, "/v1/models");
    if (start.kind === "ended") return start.answer;
    const model = this.#models.find(id);
    return model === undefined
      ? this.#refuse(start.context, modelNotFound(id))
      : this.#body(start.context, modelBody(model));
  }

  /** For errors before there is a call. */
  refuse(refusal: Refusal, endpoint: string): OpenAiAnswer {
    return this.#refuse(this.#numberRequest(endpoint, {}), translateRefusal(refusal));
  }

  async #reply(
    call: OpenAiCall,
    way: { readonly endpoint: string; readonly prefix: string; readonly read: (body: Json) => ReadRequestOutcome },
  ): Promise<OpenAiAnswer> {
    const start = this.#start(call, way.endpoint);
    if (start.kind === "ended") return start.answer;
    const { context } = start;
    const known = this.#resolveModel(way.read(call.body));
    if (known.kind === "refused") return this.#refuse(context, known);
    const id = way.prefix + shortHash(`${this.#deps.seed} ${context.n} reply`);
    const exchange = new OpenAiExchange(this.#exchange, { ...context, ...known, id, signal: call.signal });
    try {
      const isCompact = way.endpoint.endsWith("/compact");
      const decided = isCompact ? await exchange.compact() : await exchange.reply();
      const contextWithFault = { ...context, fault: exchange.fault };
      if (decided.kind !== "decided") return this.#endEarly(contextWithFault, decided);
      const { at, workspace } = context;
      const shape = isCompact ? "compaction" : "reply";
      return await this.#deliver(contextWithFault, {
        ...known,
        id,
        shape,
        decided,
        at,
        workspace,
        signal: call.signal,
      });
    } catch (error) {
      exchange.lost();
      // Responders are code of the user: the client is told about the error, and other requests are not affected.
      const message = `The responder failed: ${String(error)}`;
      return this.#refuse(context, refuseRequest(message, { status: 500, type: "server_error" }));
    }
  }

  async #deliver(
    context: RequestContext,
    reply: OpenAiReply & { readonly signal: AbortSignal | undefined },
  ): Promise<OpenAiAnswer> {
    const headers = { ...this.#headers(context), ...costHeader(reply) };
    const onEnd = (outcome: "delivered" | "broken"): void => this.#traceReply(context, { reply, outcome });
    const answer = await deliverReply({ ...this.#exchange, onEnd }, reply);
    return answer.kind === "dropped" ? answer : { ...answer, headers };
  }

  #endEarly(context: RequestContext, ended: OpenAiEarlyOutcome): OpenAiAnswer {
    if (ended.kind === "refused") return this.#refuse(context, ended);
    this.#traceEnd(context, { status: 0, outcome: "broken" });
    return ended;
  }

  #resolveModel(
    read: ReadRequestOutcome,
  ): OpenAiRefusal | { readonly kind: "known"; readonly request: OpenAiRequest; readonly model: OpenAiModel } {
    if (read.kind === "refused") return read;
    const model = this.#models.find(read.request.model);
    return model === undefined ? modelNotFound(read.request.model) : { kind: "known", request: read.request, model };
  }

  #answerStored(
    call: Omit<OpenAiCall, "body">,
    { id, answer }: { readonly id: string; readonly answer: (body: object) => object },
  ): OpenAiAnswer {
    const start = this.#start({ ...call, body: {} }, "/v1/responses");
    if (start.kind === "ended") return start.answer;
    const found = this.#exchange.store.find(id, start.context.workspace);
    return found === undefined
      ? this.#refuse(start.context, refuseRequest(`Response with id '${id}' not found.`, { status: 404, param: "id" }))
      : this.#body(start.context, answer(found.body));
  }

  #start({ headers, body }: OpenAiCall, endpoint: string): StartOutcome {
    if (isTooDeep(body)) return endWith(this.refuse(tooDeepRefusal(), endpoint));
    const numbered = this.#numberRequest(endpoint, body);
    const control = readControl(headers);
    if (control.kind === "refused") return endWith(this.#refuse(numbered, translateRefusal(control)));
    const form: ReplyForm = isObject(body) && body["stream"] === true ? "stream" : "json";
    if (control.fault !== undefined && !canStrike(control.fault, form))
      return endWith(this.#refuse(numbered, translateRefusal(unfitFaultRefusal(control.fault))));
    const { clock } = this.#deps;
    clock.advance(control.advanceMillis);
    const fault = control.fault ?? chooseFault(this.#deps.faults, { n: numbered.n, form });
    if (fault?.kind === "clock-jump") clock.advance(fault.byMs);
    if (fault?.kind === "cache-lost") this.cache.lose();
    const key = bearerKey(headers);
    const context = { ...numbered, at: clock.now(), fault, workspace: workspaceForKey(key ?? "") };
    // A fault comes before validation, as a gateway's does.
    const early = earlyFault(fault, form);
    if (early !== undefined)
      return endWith(this.#endEarly(context, early.kind === "refused" ? translateRefusal(early) : early));
    return key === undefined ? endWith(this.#refuse(context, missingKey())) : { kind: "started", context };
  }

  #numberRequest(endpoint: string, body: Json): RequestContext {
    const n = this.#deps.nextRequest();
    const requestId = `req_${shortHash(`${this.#deps.seed} ${n} req`)}`;
    const at = this.#deps.clock.now();
    return { n, requestId, at, endpoint, body, fault: undefined, workspace: "" };
  }

  #refuse(context: RequestContext, refusal: OpenAiRefusal): OpenAiAnswer {
    this.#traceEnd(context, { status: refusal.status, outcome: "refused", error: refusal });
    const { retryAfterSeconds: wait, status } = refusal;
    const headers = { ...this.#headers(context), ...(wait === undefined ? {} : { "retry-after": String(wait) }) };
    return { kind: "body", status, headers, body: openAiErrorBody(refusal) };
  }

  #body(context: RequestContext, body: object): OpenAiAnswer {
    const headers = this.#headers(context);
    const place = cutPlace(context.fault);
    return place === undefined ? { kind: "body", status: 200, headers, body } : { kind: "cut", headers, body, place };
  }

  #headers({ requestId, n }: RequestContext): AnswerHeaders {
    return {
      "x-request-id": requestId,
      [reportHeaders.number]: String(n),
      [reportHeaders.now]: new Date(this.#deps.clock.now()).toISOString(),
    };
  }

  #traceReply(
    context: RequestContext,
    { reply, outcome }: { readonly reply: OpenAiReply; readonly outcome: "delivered" | "broken" },
  ): void {
    this.#traceEnd(context, { status: 200, outcome, ...traceRuns(reply) });
  }

  /** Requests of this API have no blocks in a trace, only their parameters and their outcome. */
  #traceEnd(context: RequestContext, end: TracedEnd): void {
    const { trace } = this.#deps;
    if (trace === undefined || context.endpoint === "/v1/models") return;
    const { n, requestId: id, at, endpoint, workspace, fault } = context;
    const body = isObject(context.body) ? context.body : {};
    const model = textField(body, "model") ?? "";
    const faults = fault !== undefined && hasFaultHappened(fault, end) ? [fault] : [];
    void trace.request({ n, id, at, endpoint, workspace, model, betas: [], body, faults });
    void trace.reply({ n, ...end });
  }
}

type TracedEnd = Omit<Parameters<TraceWriter["reply"]>[0], "n" | "error"> & { readonly error?: OpenAiRefusal };

/** What is known of a request from its first moment on. */
interface RequestContext {
  readonly n: number;
  readonly requestId: string;
  readonly at: Millis;
  readonly endpoint: string;
  readonly body: Json;
  readonly fault: Fault | undefined;
  readonly workspace: string;
}

type StartOutcome =
  | { readonly kind: "ended"; readonly answer: OpenAiAnswer }
  | { readonly kind: "started"; readonly context: RequestContext };

const endWith = (answer: OpenAiAnswer): StartOutcome => ({ kind: "ended", answer });

/** If nothing was compacted, an unavailable compaction had no effect. */
const hasFaultHappened = ({ kind }: Fault, { error }: TracedEnd): boolean =>
  kind !== "compaction-unavailable" || error?.code === compactionUnavailableCode;

const costHeader = ({ decided, model, request }: OpenAiReply): AnswerHeaders => {
  const price = priceRuns(decided.runs, { model, tier: resolveServiceTier(request.serviceTier) });
  return price === undefined ? {} : { [reportHeaders.cost]: String(price.totalUsd) };
};

const bearerKey = (headers: HeaderSource): string | undefined =>
  /^bearer\s+(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];

/** Keeps the key itself out of traces and errors. */
const workspaceForKey = (key: string): string => `proj_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;

const modelBody = ({ id }: OpenAiModel): object => ({
  id,
  object: "model",
  created: releaseUnknownSeconds,
  owned_by: "openai",
});

/** Reported for a model whose release date is unknown. */
const releaseUnknownSeconds = 0;
