import { createHash } from "node:crypto";
import type { Millis } from "palimpsest/internal/schema/brand";
import { isObject, type Json, text } from "palimpsest/internal/schema/json";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { Actor } from "../actor/actor.ts";
import type { AnswerHeaders } from "../answer.ts";
import type { SimulatorClock } from "../clock.ts";
import { type HeaderSource, readControl, reportHeaders } from "../control.ts";
import { cutPlace } from "../deliver.ts";
import { isTooDeep, tooDeep } from "../depth.ts";
import { byChance, earlyFault, fits, type ReplyForm, unfit } from "../early-fault.ts";
import type { Fault } from "../fault.ts";
import type { FaultChoice } from "../fault-choice.ts";
import { hashOf } from "../hash.ts";
import type { Refusal } from "../refusal.ts";
import type { TraceWriter } from "../trace/writer.ts";
import type { OpenAiAnswer } from "./answer.ts";
import { OpenAiCache } from "./cache.ts";
import { readChat } from "./chat-read.ts";
import { OpenAiFingerprints } from "./diagnose.ts";
import {
  compactionUnavailableCode,
  errorBodyOf,
  noKey,
  type OpenAiRefusal,
  refused,
  translated,
  unknownModelOf,
} from "./error.ts";
import { admitWish, type Ended, OpenAiExchange, type OpenAiExchangeDeps } from "./exchange.ts";
import type { Wish, WishRead } from "./item.ts";
import { type OpenAiModel, OpenAiModels } from "./models.ts";
import { knownSlices } from "./prompt.ts";
import { deliveredReply, type ReplyInputs } from "./reply.ts";
import { readCompact, readInputTokens, readResponses } from "./responses-read.ts";
import { ItemSeal } from "./seal.ts";
import { ResponseStore } from "./store.ts";
import { servedTier } from "./tier.ts";
import { tracedRuns } from "./traced-runs.ts";
import { priceOfRuns } from "./usage.ts";

export interface OpenAiFaceDeps {
  readonly actor: Actor;
  readonly clock: SimulatorClock;
  readonly seed: number;
  /** On top of the models that we know. */
  readonly models: readonly ModelOverride[];
  readonly faults: FaultChoice | undefined;
  readonly trace: TraceWriter | undefined;
  /** The number of the next request, over all faces of a simulator. */
  readonly nextRequest: () => number;
}

/** One request, already read: this face knows no transport either. */
export interface OpenAiCall {
  readonly body: Json;
  readonly headers: HeaderSource;
  readonly signal?: AbortSignal;
}

/** Chat completions and responses over the same actors, with a cache and a store of its own. */
export class OpenAiFace {
  readonly cache = new OpenAiCache();
  readonly #deps: OpenAiFaceDeps;
  readonly #exchange: OpenAiExchangeDeps;
  readonly #models: OpenAiModels;

  constructor(deps: OpenAiFaceDeps) {
    this.#deps = deps;
    this.#models = new OpenAiModels(deps.models);
    this.#exchange = {
      actor: deps.actor,
      clock: deps.clock,
      seed: deps.seed,
      cache: this.cache,
      fingerprints: new OpenAiFingerprints(),
      store: new ResponseStore(),
      seal: new ItemSeal(deps.seed),
      known: knownSlices(),
    };
  }

  chatCompletions(call: OpenAiCall): Promise<OpenAiAnswer> {
    return this.#replied(call, { endpoint: "/v1/chat/completions", prefix: "chatcmpl-", read: readChat });
  }

  responses(call: OpenAiCall): Promise<OpenAiAnswer> {
    return this.#replied(call, { endpoint: "/v1/responses", prefix: "resp_", read: readResponses });
  }

  compact(call: OpenAiCall): Promise<OpenAiAnswer> {
    return this.#replied(call, { endpoint: "/v1/responses/compact", prefix: "resp_", read: readCompact });
  }

  inputTokens(call: OpenAiCall): OpenAiAnswer {
    const start = this.#start(call, "/v1/responses/input_tokens");
    if (start.kind === "ended") return start.answer;
    const { asked } = start;
    const read = readInputTokens(call.body, this.#models.all()[0]?.id ?? "");
    const known = this.#known(read);
    if (known.kind === "refused") return this.#refuse(asked, known);
    const admitted = admitWish(this.#exchange, { ...known, workspace: asked.workspace });
    if (admitted.kind === "refused") return this.#refuse(asked, admitted);
    const { tokens } = admitted.prompt;
    this.#traceEnd(asked, { status: 200, outcome: "delivered", inputTokens: tokens });
    return this.#body(asked, { object: "response.input_tokens", input_tokens: tokens });
  }

  /** A response that was stored. */
  response(call: Omit<OpenAiCall, "body">, id: string): OpenAiAnswer {
    return this.#stored(call, { id, answer: (body) => body });
  }

  deleteResponse(call: Omit<OpenAiCall, "body">, id: string): OpenAiAnswer {
    return this.#stored(call, {
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
    return this.#body(start.asked, { object: "list", data: this.#models.all().map(modelBody) });
  }

  model(call: Omit<OpenAiCall, "body">, id: string): OpenAiAnswer {
    const start = this.#start({ ...call, body: {} }, "/v1/models");
    if (start.kind === "ended") return start.answer;
    const model = this.#models.find(id);
    return model === undefined
      ? this.#refuse(start.asked, unknownModelOf(id))
      : this.#body(start.asked, modelBody(model));
  }

  /** For what goes wrong before there is a call. */
  refuse(refusal: Refusal, endpoint: string): OpenAiAnswer {
    return this.#refuse(this.#number(endpoint, {}), translated(refusal));
  }

  async #replied(call: OpenAiCall, way: Way): Promise<OpenAiAnswer> {
    const start = this.#start(call, way.endpoint);
    if (start.kind === "ended") return start.answer;
    const { asked } = start;
    const known = this.#known(way.read(call.body));
    if (known.kind === "refused") return this.#refuse(asked, known);
    const id = way.prefix + hashOf(`${this.#deps.seed} ${asked.n} reply`);
    const exchange = new OpenAiExchange(this.#exchange, { ...asked, ...known, id, signal: call.signal });
    try {
      const isCompact = way.endpoint.endsWith("/compact");
      const decided = isCompact ? await exchange.compact() : await exchange.reply();
      const met = { ...asked, fault: exchange.fault };
      if (decided.kind !== "decided") return this.#ended(met, decided);
      const { at, workspace } = asked;
      const shape = isCompact ? "compaction" : "reply";
      return await this.#delivered(met, { ...known, id, shape, decided, at, workspace, signal: call.signal });
    } catch (error) {
      exchange.lost();
      // Actors are other people's code: their mistake is told to who can mend it, and stays this request's own.
      const message = `The actor failed: ${String(error)}`;
      return this.#refuse(asked, refused(message, { status: 500, type: "server_error" }));
    }
  }

  async #delivered(
    asked: Asked,
    reply: ReplyInputs & { readonly signal: AbortSignal | undefined },
  ): Promise<OpenAiAnswer> {
    const headers = { ...this.#headers(asked), ...costHeader(reply) };
    const onEnd = (outcome: "delivered" | "broken"): void => this.#traceReply(asked, { reply, outcome });
    const answer = await deliveredReply({ ...this.#exchange, onEnd }, reply);
    return answer.kind === "dropped" ? answer : { ...answer, headers };
  }

  #ended(asked: Asked, ended: Ended): OpenAiAnswer {
    if (ended.kind === "refused") return this.#refuse(asked, ended);
    this.#traceEnd(asked, { status: 0, outcome: "broken" });
    return ended;
  }

  #known(read: WishRead): OpenAiRefusal | { readonly kind: "known"; readonly wish: Wish; readonly model: OpenAiModel } {
    if (read.kind === "refused") return read;
    const model = this.#models.find(read.wish.model);
    return model === undefined ? unknownModelOf(read.wish.model) : { kind: "known", wish: read.wish, model };
  }

  #stored(call: Omit<OpenAiCall, "body">, { id, answer }: StoredCall): OpenAiAnswer {
    const start = this.#start({ ...call, body: {} }, "/v1/responses");
    if (start.kind === "ended") return start.answer;
    const found = this.#exchange.store.find(id, start.asked.workspace);
    return found === undefined
      ? this.#refuse(start.asked, refused(`Response with id '${id}' not found.`, { status: 404, param: "id" }))
      : this.#body(start.asked, answer(found.body));
  }

  #start({ headers, body }: OpenAiCall, endpoint: string): Started {
    if (isTooDeep(body)) return ended(this.refuse(tooDeep(), endpoint));
    const numbered = this.#number(endpoint, body);
    const control = readControl(headers);
    if (control.kind === "refused") return ended(this.#refuse(numbered, translated(control)));
    const form: ReplyForm = isObject(body) && body["stream"] === true ? "stream" : "json";
    if (control.fault !== undefined && !fits(control.fault, form))
      return ended(this.#refuse(numbered, translated(unfit(control.fault))));
    const { clock } = this.#deps;
    clock.advance(control.advanceMillis);
    const fault = control.fault ?? byChance(this.#deps.faults, { n: numbered.n, form });
    if (fault?.kind === "clock-jump") clock.advance(fault.byMs);
    if (fault?.kind === "cache-lost") this.cache.lose();
    const key = keyOf(headers);
    const asked = { ...numbered, at: clock.now(), fault, workspace: workspaceOf(key ?? "") };
    // A fault comes before the rules, as a gateway's does.
    const early = earlyFault(fault, form);
    if (early !== undefined) return ended(this.#ended(asked, early.kind === "refused" ? translated(early) : early));
    return key === undefined ? ended(this.#refuse(asked, noKey())) : { kind: "started", asked };
  }

  #number(endpoint: string, body: Json): Asked {
    const n = this.#deps.nextRequest();
    const requestId = `req_${hashOf(`${this.#deps.seed} ${n} req`)}`;
    const at = this.#deps.clock.now();
    return { n, requestId, at, endpoint, body, fault: undefined, workspace: "" };
  }

  #refuse(asked: Asked, refusal: OpenAiRefusal): OpenAiAnswer {
    this.#traceEnd(asked, { status: refusal.status, outcome: "refused", error: refusal });
    const { retryAfterSeconds: wait, status } = refusal;
    const headers = { ...this.#headers(asked), ...(wait === undefined ? {} : { "retry-after": String(wait) }) };
    return { kind: "body", status, headers, body: errorBodyOf(refusal) };
  }

  #body(asked: Asked, body: object): OpenAiAnswer {
    const headers = this.#headers(asked);
    const place = cutPlace(asked.fault);
    return place === undefined ? { kind: "body", status: 200, headers, body } : { kind: "cut", headers, body, place };
  }

  #headers({ requestId, n }: Asked): AnswerHeaders {
    return {
      "x-request-id": requestId,
      [reportHeaders.number]: String(n),
      [reportHeaders.now]: new Date(this.#deps.clock.now()).toISOString(),
    };
  }

  #traceReply(asked: Asked, { reply, outcome }: TracedReply): void {
    this.#traceEnd(asked, { status: 200, outcome, ...tracedRuns(reply) });
  }

  /** Requests of this face have no blocks in a trace: their parameters and their end only. */
  #traceEnd(asked: Asked, end: TracedEnd): void {
    const { trace } = this.#deps;
    if (trace === undefined || asked.endpoint === "/v1/models") return;
    const { n, requestId: id, at, endpoint, workspace, fault } = asked;
    const body = isObject(asked.body) ? asked.body : {};
    const model = text(body, "model") ?? "";
    const faults = fault !== undefined && happened(fault, end) ? [fault] : [];
    void trace.request({ n, id, at, endpoint, workspace, model, betas: [], body, faults });
    void trace.reply({ n, ...end });
  }
}

interface Way {
  readonly endpoint: string;
  readonly prefix: string;
  readonly read: (body: Json) => WishRead;
}

interface StoredCall {
  readonly id: string;
  readonly answer: (body: object) => object;
}

interface TracedReply {
  readonly reply: ReplyInputs;
  readonly outcome: "delivered" | "broken";
}

type TracedEnd = Omit<Parameters<TraceWriter["reply"]>[0], "n" | "error"> & { readonly error?: OpenAiRefusal };

/** What is known of a request from its first moment on. */
interface Asked {
  readonly n: number;
  readonly requestId: string;
  readonly at: Millis;
  readonly endpoint: string;
  readonly body: Json;
  readonly fault: Fault | undefined;
  readonly workspace: string;
}

type Started =
  | { readonly kind: "ended"; readonly answer: OpenAiAnswer }
  | { readonly kind: "started"; readonly asked: Asked };

const ended = (answer: OpenAiAnswer): Started => ({ kind: "ended", answer });

/** Where nothing is compacted, a compaction that is unavailable is missed by nobody. */
const happened = ({ kind }: Fault, { error }: TracedEnd): boolean =>
  kind !== "compaction-unavailable" || error?.code === compactionUnavailableCode;

const costHeader = ({ decided, model, wish }: ReplyInputs): AnswerHeaders => {
  const price = priceOfRuns(decided.runs, { model, tier: servedTier(wish.serviceTier) });
  return price === undefined ? {} : { [reportHeaders.cost]: String(price.totalUsd) };
};

const keyOf = (headers: HeaderSource): string | undefined =>
  /^bearer\s+(\S+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];

/** The key itself stays out of traces and errors. */
const workspaceOf = (key: string): string => `proj_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;

const modelBody = ({ id }: OpenAiModel): object => ({
  id,
  object: "model",
  created: releaseUnknownSeconds,
  owned_by: "openai",
});

/** What is said of a model whose release date is not known. */
const releaseUnknownSeconds = 0;
