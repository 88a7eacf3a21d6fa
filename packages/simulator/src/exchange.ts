import { type Millis, millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Model } from "palimpsest/internal/schema/model";
import type { CacheMissReason, ReplyMessage } from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { admit, admitCompacted, type AdmitDeps, type AdmittedRequest } from "./admit.ts";
import type { AnswerHeaders, CutPlace, SentEvent } from "./answer.ts";
import type { FingerprintInput, Fingerprints } from "./prompt/fingerprints.ts";
import type { CachePlan } from "palimpsest/internal/cache/prompt-cache";
import { type DueCompaction, findDueCompaction } from "./compaction/compaction-block.ts";
import { buildCompactionBlock, summarySample } from "./compaction/build-compaction-block.ts";
import { reportHeaders } from "./request-headers.ts";
import { cutPlace, deliver } from "./reply/deliver.ts";
import { type EarlyOutcome, hasFaultStruck, type ReplyForm } from "./fault/early-fault.ts";
import { extension } from "./extension.ts";
import type { Fault } from "./fault/fault.ts";
import { toSpent, type Price, priceIterations } from "./reply/iteration.ts";
import { buildReplyMessage, withRawInputs, messageEvents, messagesStreamFormat } from "./reply/build-reply-message.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { renderRequest } from "./prompt/request-rendition.ts";
import { replyAfterCompaction, compactionOnlyReply, type ComposedReply } from "./reply/compose-reply.ts";
import { type SampleRequest, type SampleResult, Sampler, type SamplerDeps } from "./reply/sampler.ts";
import { traceCache, type TraceWriter } from "./trace/trace-writer.ts";
import { checkSize } from "./validate/check-betas.ts";

export interface ExchangeDeps extends AdmitDeps, SamplerDeps {
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
  /** Once a reply has ended: with it where it reached the client whole, with nothing where it did not. */
  readonly settle?: ((reply: ReplyMessage | undefined) => void) | undefined;
}

export type ExchangeOutcome =
  | { readonly kind: "message"; readonly message: object; readonly headers: AnswerHeaders }
  | { readonly kind: "cut"; readonly message: object; readonly place: CutPlace; readonly headers: AnswerHeaders }
  | { readonly kind: "stream"; readonly events: AsyncIterable<SentEvent>; readonly headers: AnswerHeaders }
  | EarlyOutcome;

/** From a request to its reply: rules, prompt, size, cache, actor, money. */
export const exchange = (deps: ExchangeDeps, input: ExchangeInput): Promise<ExchangeOutcome> =>
  new Exchange(deps, input).run();

/** Everything about a reply that is decided before its first byte goes out. */
interface ReplyDecision {
  /** In the order in which the model was asked. */
  readonly sampled: readonly [SampleResult, ...SampleResult[]];
  readonly said: ComposedReply;
  readonly message: ReplyMessage;
  readonly price: Price;
}

/** What is known of a request when it ends. */
interface KnownPrompt {
  readonly prompt?: Prompt;
  readonly plan?: CachePlan;
}

class Exchange {
  readonly #deps: ExchangeDeps;
  readonly #input: ExchangeInput;
  readonly #sampling: Sampler;
  #isTraced = false;
  #beganAt: Millis;

  constructor(deps: ExchangeDeps, input: ExchangeInput) {
    this.#deps = deps;
    this.#input = input;
    this.#beganAt = input.at;
    this.#sampling = new Sampler(deps, { ...input, form: this.#form });
  }

  async run(): Promise<ExchangeOutcome> {
    const { request, model, betas, at } = this.#input;
    const whole = admit(this.#deps, { ...this.#input, endpoint: "messages" });
    if (whole.kind === "refused") return this.#without(whole, {});
    const minimumTokens = model.cachePrefixTokensMin;
    const look = (of: Prompt): CachePlan => this.#deps.cache.look({ prompt: of, at, minimumTokens });
    const admitted = { ...whole, ...extension.show({ request, shown: whole, look }) };
    const { prompt, traits } = admitted;
    const tooLong = checkSize({ request, model, betas, traits, promptTokens: prompt.tokens });
    if (tooLong !== undefined) return this.#without(tooLong, { prompt });
    const asked = findDueCompaction(request, prompt.tokens);
    if (asked !== undefined) return this.#compact(asked, admitted);
    const sampled = await this.#sample(messageSample({ request, admitted }));
    if (sampled.kind === "ended") return sampled.outcome;
    return this.#reply(this.#decide({ admitted, sampled: [sampled.sampled], said: sampled.sampled.said }));
  }

  /** The model is asked for a summary first; then, unless that was all, for its reply with the summary in place of the messages. */
  async #compact(asked: DueCompaction, admitted: AdmittedRequest): Promise<ExchangeOutcome> {
    const { request, model } = this.#input;
    const summing = await this.#sample(summarySample({ asked, request, admitted, model }));
    if (summing.kind === "ended") return summing.outcome;
    const { sampled: summary } = summing;
    const { prompt } = admitted;
    const said = summary.said.content;
    const block = buildCompactionBlock({
      asked,
      request,
      modelId: model.id,
      prompt,
      said,
      seal: this.#deps.compactions,
    });
    if (asked.way === "on-demand" || (asked.afterwards === "pause" && block.content !== null))
      return this.#reply(this.#decide({ admitted, sampled: [summary], said: compactionOnlyReply(block) }));
    // What was written for the summary can be read now: the model has answered.
    this.#deps.cache.commit(summary.plan);
    const replying = await this.#sample(
      messageSample(
        block.content === null
          ? { request, admitted }
          : admitCompacted(this.#deps, { input: this.#input, admitted, block }),
      ),
    );
    if (replying.kind === "ended") return replying.outcome;
    const { sampled } = replying;
    return this.#reply(
      this.#decide({ admitted, sampled: [summary, sampled], said: replyAfterCompaction(block, sampled.said) }),
    );
  }

  get #form(): ReplyForm {
    return this.#input.request.stream === true ? "stream" : "json";
  }

  async #sample(
    question: SampleRequest,
  ): Promise<{ readonly kind: "sampled"; readonly sampled: SampleResult } | { kind: "ended"; outcome: EarlyOutcome }> {
    const { prompt } = question;
    const taken = await this.#sampling.ask(question);
    if (taken.kind === "ended") {
      const { outcome, plan } = taken;
      return {
        kind: "ended",
        outcome: await this.#without(outcome, { prompt, ...(plan === undefined ? {} : { plan }) }),
      };
    }
    await this.#trace({ prompt, plan: taken.plan });
    const sampled = await this.#sampling.complete(taken);
    return sampled === undefined ? { kind: "ended", outcome: this.#gone() } : { kind: "sampled", sampled };
  }

  /** Nobody is there any more to whom the reply could go. */
  #gone(): EarlyOutcome {
    this.#sampling.end("lost");
    void this.#deps.trace?.reply({ n: this.#input.n, status: 0, outcome: "broken" });
    return { kind: "dropped" };
  }

  #decide({
    admitted,
    sampled,
    said,
  }: Pick<ReplyDecision, "sampled" | "said"> & { readonly admitted: AdmittedRequest }): ReplyDecision {
    const { request, model } = this.#input;
    const message = buildReplyMessage({
      ...this.#input,
      said,
      fault: this.#sampling.fault,
      iterations: sampled,
      transformations: admitted.transformations,
      missReason: this.#missReason(admitted.prompt),
      edits: admitted.edits,
      besides: extension.report(request, sampled[0].plan),
    });
    const price = priceIterations(
      model,
      sampled.map((one) => toSpent(one, request)),
    );
    return { sampled, said, message, price };
  }

  async #reply(decided: ReplyDecision): Promise<ExchangeOutcome> {
    const headers = { [reportHeaders.cost]: String(decided.price.totalUsd) };
    if (this.#form === "stream") return { kind: "stream", events: this.#streamed(decided), headers };
    const { fault } = this.#sampling;
    if (fault?.kind === "trickle")
      await this.#deps.clock.sleep(this.#trickled(decided, fault.everyMs), this.#input.signal);
    if (this.#input.signal?.aborted === true) return this.#gone();
    const place = cutPlace(fault);
    this.#begin(decided);
    this.#end(decided, place === undefined ? "delivered" : "broken");
    const message = withRawInputs(decided.message, decided.said.rawInputs);
    return place === undefined ? { kind: "message", message, headers } : { kind: "cut", message, place, headers };
  }

  /** As long as the pauses between the events of a stream would have taken. */
  #trickled({ message, said }: ReplyDecision, everyMillis: Millis): Millis {
    return millis(everyMillis * ([...messageEvents(message, said.rawInputs)].length - 1));
  }

  #streamed(decided: ReplyDecision): AsyncIterable<SentEvent> {
    return deliver({
      events: messageEvents(decided.message, decided.said.rawInputs),
      form: messagesStreamFormat,
      fault: this.#sampling.fault,
      clock: this.#deps.clock,
      pauseMillis: decided.sampled.at(-1)?.pauseMillis,
      signal: this.#input.signal,
      onBegin: () => this.#begin(decided),
      onEnd: (outcome) => this.#end(decided, outcome),
    });
  }

  /** The first byte goes out: from now on others can read what this request wrote. */
  #begin({ sampled, message }: ReplyDecision): void {
    this.#beganAt = this.#deps.clock.now();
    for (const { plan } of sampled) this.#deps.cache.commit(plan);
    // The next request goes on from what was asked last.
    const { prompt } = sampled.at(-1) ?? sampled[0];
    this.#deps.fingerprints.remember(message.id, this.#fingerprint(prompt));
  }

  #end({ sampled, message, price }: ReplyDecision, outcome: "delivered" | "broken"): void {
    this.#input.settle?.(outcome === "delivered" ? message : undefined);
    this.#sampling.end(outcome === "delivered" ? "delivered" : "lost");
    const { n } = this.#input;
    const [first] = sampled;
    const cost = { usd: price.totalUsd, usdByKind: price.usdByKind };
    const compacted = sampled.some(({ type }) => type === "compaction");
    void this.#deps.trace?.reply({
      n,
      status: 200,
      outcome,
      message,
      cost,
      split: first.split,
      pricesUsdPerMTok: price.usdPerMTok,
      ...(compacted ? { iterations: sampled } : {}),
      beganAt: this.#beganAt,
    });
  }

  /** The end of a request that gets no reply. */
  async #without(ending: EarlyOutcome, known: KnownPrompt): Promise<EarlyOutcome> {
    await this.#trace(known, ending);
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

  /** Once, with what the model was asked first. Waits only where the disk does not keep up. */
  async #trace({ prompt, plan }: KnownPrompt, ending?: EarlyOutcome): Promise<void> {
    if (this.#isTraced) return;
    this.#isTraced = true;
    const { fault } = this.#sampling;
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
      ...(plan === undefined ? {} : { cache: traceCache(plan) }),
      faults: fault !== undefined && hasFaultStruck(fault, ending) ? [fault] : [],
    });
  }

  /** Undefined where nobody asked; null where there is nothing to compare with or nothing diverged. */
  #missReason(prompt: Prompt): CacheMissReason | null | undefined {
    const { diagnostics } = this.#input.request;
    if (diagnostics === null || diagnostics === undefined) return undefined;
    const previous = diagnostics.previous_message_id;
    if (previous === null || previous === undefined) return null;
    return this.#deps.fingerprints.compare(previous, this.#fingerprint(prompt));
  }

  #fingerprint(prompt: Prompt): FingerprintInput {
    const { model, workspace, request } = this.#input;
    return {
      prompt,
      model: model.id,
      speed: request.speed ?? "standard",
      workspace,
      deleting: extension.askedIds(request),
    };
  }
}

const messageSample = ({
  request,
  admitted,
}: {
  readonly request: MessagesRequest;
  readonly admitted: AdmittedRequest;
}): SampleRequest => ({
  type: "message",
  request: renderRequest(request, admitted.rendering),
  prompt: admitted.prompt,
  traits: admitted.traits,
});
