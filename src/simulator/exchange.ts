import { type Millis, millis } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Model } from "../schema/model.ts";
import type { CacheMissReason, ReplyMessage } from "../schema/wire/reply.ts";
import type { MessagesRequest } from "../schema/wire/request.ts";
import type { Actor, Move, Take } from "./actor/actor.ts";
import { checkTake } from "./actor/check-take.ts";
import { admit, type AdmitDeps, type Admitted } from "./admit.ts";
import type { AnswerHeaders, CutPlace, Sent } from "./answer.ts";
import type { Fingerprinted, Fingerprints } from "./cache/diagnose.ts";
import type { CachePlan, PromptCache } from "./cache/prompt-cache.ts";
import type { SimulatorClock } from "./clock.ts";
import { reportHeaders } from "./control.ts";
import { cutPlace, deliver } from "./deliver.ts";
import { type EarlyOutcome, earlyFault, fits, type ReplyForm } from "./early-fault.ts";
import type { Fault } from "./fault.ts";
import { hashOf } from "./hash.ts";
import { messageOf, withRawInputs } from "./message-of.ts";
import { type Price, priceOf } from "./price.ts";
import type { Prompt } from "./prompt.ts";
import { seededRandom } from "./random.ts";
import { type Said, say } from "./reply.ts";
import { eventsOf } from "./stream.ts";
import { tracedCache } from "./trace/traced-cache.ts";
import type { TraceWriter } from "./trace/writer.ts";
import { checkSize } from "./validate/size.ts";

export interface ExchangeDeps extends AdmitDeps {
  readonly actor: Actor;
  readonly clock: SimulatorClock;
  readonly cache: PromptCache;
  readonly fingerprints: Fingerprints;
  readonly trace: TraceWriter | undefined;
}

/** A request of known shape, for a known model. */
export interface ExchangeInput {
  readonly n: number;
  readonly seed: number;
  readonly requestId: string;
  readonly messageId: string;
  /** Start of the request: lifetimes count from here. */
  readonly at: Millis;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
  readonly fault: Fault | undefined;
  readonly request: MessagesRequest;
  /** The request as it came, for the trace. */
  readonly body: JsonObject;
  readonly model: Model;
  readonly signal: AbortSignal | undefined;
}

export type Exchanged =
  | { readonly kind: "message"; readonly message: object; readonly headers: AnswerHeaders }
  | { readonly kind: "cut"; readonly message: object; readonly place: CutPlace; readonly headers: AnswerHeaders }
  | { readonly kind: "stream"; readonly events: AsyncIterable<Sent>; readonly headers: AnswerHeaders }
  | EarlyOutcome;

/** From a request to its reply: rules, prompt, size, cache, actor, money. */
export const exchange = (deps: ExchangeDeps, input: ExchangeInput): Promise<Exchanged> =>
  new Exchange(deps, input).run();

/** Everything about a reply that is decided before its first byte goes out. */
export interface Decided {
  readonly admitted: Admitted;
  readonly plan: CachePlan;
  readonly take: Take;
  readonly move: Extract<Move, { kind: "say" }>;
  readonly fault: Fault | undefined;
  readonly said: Said;
  readonly message: ReplyMessage;
  readonly price: Price;
}

/** What is known of a request when it ends. */
interface Known {
  readonly prompt?: Prompt;
  readonly plan?: CachePlan;
  readonly fault?: Fault | undefined;
}

class Exchange {
  readonly #deps: ExchangeDeps;
  readonly #input: ExchangeInput;
  #beganAt: Millis;

  constructor(deps: ExchangeDeps, input: ExchangeInput) {
    this.#deps = deps;
    this.#input = input;
    this.#beganAt = input.at;
  }

  async run(): Promise<Exchanged> {
    const { request, model, betas, signal } = this.#input;
    const admitted = admit(this.#deps, { ...this.#input, endpoint: "messages" });
    if (admitted.kind === "refused") return this.#without(admitted, {});
    const { prompt, traits } = admitted;
    const tooLong = checkSize({ request, model, betas, traits, promptTokens: prompt.tokens });
    if (tooLong !== undefined) return this.#without(tooLong, { prompt });
    const take = await this.#play();
    const fault = this.#input.fault ?? this.#befalling(take);
    const early = earlyFault(fault, this.#form);
    if (early !== undefined) {
      take.lost?.();
      return this.#without(early, { prompt, fault });
    }
    const at = this.#input.fault === undefined ? this.#strike(fault) : this.#input.at;
    const plan = this.#deps.cache.look({ prompt, at, minimumTokens: model.cachePrefixTokensMin });
    if (take.move.kind === "refuse") return this.#without(take.move.refusal, { prompt, plan, fault });
    await this.#trace({ prompt, plan, fault });
    if (take.move.delayMs !== undefined) await this.#deps.clock.sleep(take.move.delayMs, signal);
    if (signal?.aborted === true) return this.#gone(take);
    return this.#reply(this.#decide({ admitted, plan, take, fault, move: take.move }));
  }

  get #form(): ReplyForm {
    return this.#input.request.stream === true ? "stream" : "json";
  }

  /** The actor's fault, where it can happen to this reply. */
  #befalling({ fault, faulted }: Take): Fault | undefined {
    if (fault === undefined || !fits(fault, this.#form)) return undefined;
    faulted?.();
    return fault;
  }

  /** What an actor's fault does before its reply; a client's has struck when the request came. Returns when the request starts. */
  #strike(fault: Fault | undefined): Millis {
    if (fault?.kind === "cache-lost") this.#deps.cache.lose();
    if (fault?.kind !== "clock-jump") return this.#input.at;
    this.#deps.clock.advance(fault.byMs);
    return this.#deps.clock.now();
  }

  /** Nobody is there any more to whom the reply could go. */
  #gone(take: Take): EarlyOutcome {
    take.lost?.();
    void this.#deps.trace?.reply({ n: this.#input.n, status: 0, outcome: "broken" });
    return { kind: "dropped" };
  }

  /** A request for no tokens only warms the cache: nobody is asked. */
  async #play(): Promise<Take> {
    const { request, seed, n } = this.#input;
    if (request.max_tokens === 0) return { move: { kind: "say", blocks: [], stop: "max_tokens" } };
    const random = seededRandom(Math.imul(seed, 0x9e3779b1) + n);
    const take = await this.#deps.actor.play({ request, now: this.#deps.clock.now(), random });
    checkTake(take);
    return take;
  }

  #decide(known: Omit<Decided, "said" | "message" | "price">): Decided {
    const { request, model } = this.#input;
    const { plan, admitted, fault, move } = known;
    const said = say({ ...admitted, move, request, model, seal: this.#deps.seal, toolUseId: this.#toolUseIds() });
    const message = messageOf({
      ...this.#input,
      said,
      fault,
      split: plan.usage,
      transformations: admitted.transformations,
      missReason: this.#missReason(admitted),
    });
    const { speed, inference_geo: inferenceGeo } = request;
    const price = priceOf(model, { usage: plan.usage, outputTokens: said.outputTokens, speed, inferenceGeo });
    return { ...known, said, message, price };
  }

  async #reply(decided: Decided): Promise<Exchanged> {
    const headers = { [reportHeaders.cost]: String(decided.price.totalUsd) };
    if (this.#form === "stream") return { kind: "stream", events: this.#streamed(decided), headers };
    const { fault, said } = decided;
    if (fault?.kind === "trickle")
      await this.#deps.clock.sleep(this.#trickled(decided, fault.everyMs), this.#input.signal);
    if (this.#input.signal?.aborted === true) return this.#gone(decided.take);
    const place = cutPlace(fault);
    this.#begin(decided);
    this.#end(decided, place === undefined ? "delivered" : "broken");
    const message = withRawInputs(decided.message, said.rawInputs);
    return place === undefined ? { kind: "message", message, headers } : { kind: "cut", message, place, headers };
  }

  /** As long as the pauses between the events of a stream would have taken. */
  #trickled({ message, said }: Decided, everyMillis: Millis): Millis {
    return millis(everyMillis * ([...eventsOf(message, said.rawInputs)].length - 1));
  }

  #streamed(decided: Decided): AsyncIterable<Sent> {
    return deliver({
      events: eventsOf(decided.message, decided.said.rawInputs),
      fault: decided.fault,
      clock: this.#deps.clock,
      pauseMillis: decided.move.pauseMs,
      signal: this.#input.signal,
      onBegin: () => this.#begin(decided),
      onEnd: (outcome) => this.#end(decided, outcome),
    });
  }

  /** The first byte goes out: from now on others can read what this request wrote. */
  #begin({ plan, admitted, message }: Decided): void {
    this.#beganAt = this.#deps.clock.now();
    this.#deps.cache.commit(plan);
    this.#deps.fingerprints.remember(message.id, this.#fingerprint(admitted));
  }

  #end(decided: Decided, outcome: "delivered" | "broken"): void {
    if (outcome === "delivered") decided.take.delivered?.();
    else decided.take.lost?.();
    const { n } = this.#input;
    const { message, price } = decided;
    const cost = { usd: price.totalUsd, usdByKind: price.usdByKind };
    const billed = { cost, split: decided.plan.usage, pricesUsdPerMTok: price.usdPerMTok };
    void this.#deps.trace?.reply({ n, status: 200, outcome, message, ...billed, beganAt: this.#beganAt });
  }

  /** The end of a request that gets no reply. */
  async #without(ending: EarlyOutcome, known: Known): Promise<EarlyOutcome> {
    await this.#trace(known);
    const refused = ending.kind === "refused" ? ending : undefined;
    const { n } = this.#input;
    await this.#deps.trace?.reply({
      n,
      status: refused?.status ?? 0,
      outcome: refused === undefined ? "broken" : "refused",
      ...(refused === undefined ? {} : { error: refused }),
    });
    return ending;
  }

  /** Waits only where the disk does not keep up. */
  async #trace({ prompt, plan, fault = this.#input.fault }: Known): Promise<void> {
    const { n, requestId: id, at, workspace, model, betas, body } = this.#input;
    await this.#deps.trace?.request({
      n,
      id,
      at,
      workspace,
      model: model.id,
      endpoint: "/v1/messages",
      betas: [...betas],
      body,
      ...(prompt === undefined ? {} : { prompt }),
      ...(plan === undefined ? {} : { cache: tracedCache(plan) }),
      faults: fault === undefined ? [] : [fault],
    });
  }

  /** Unique in the simulator's life, and the same for the same seed. */
  #toolUseIds(): () => string {
    const { seed, n } = this.#input;
    let made = 0;
    return () => {
      made += 1;
      return `toolu_${hashOf(`${seed} ${n} call ${made}`)}`;
    };
  }

  /** Undefined where nobody asked; null where there is nothing to compare with or nothing diverged. */
  #missReason(admitted: Admitted): CacheMissReason | null | undefined {
    const { diagnostics } = this.#input.request;
    if (diagnostics === null || diagnostics === undefined) return undefined;
    const previous = diagnostics.previous_message_id;
    if (previous === null || previous === undefined) return null;
    return this.#deps.fingerprints.compare(previous, this.#fingerprint(admitted));
  }

  #fingerprint({ prompt }: Admitted): Fingerprinted {
    const { model, workspace, request } = this.#input;
    return { prompt, model: model.id, speed: request.speed ?? "standard", workspace };
  }
}
