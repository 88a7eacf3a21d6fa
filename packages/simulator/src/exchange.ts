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
import { extension } from "./extension.ts";
import { type EarlyOutcome, hasFaultStruck, type ReplyForm, type Fault } from "./fault/fault.ts";
import { toSpent, type Price, priceIterations } from "./reply/iteration.ts";
import { buildReplyMessage, withRawInputs, messageEvents, messagesStreamFormat } from "./reply/build-reply-message.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { renderRequest } from "./prompt/request-rendition.ts";
import { replyAfterCompaction, compactionOnlyReply, type ComposedReply } from "./reply/compose-reply.ts";
import { type SampleRequest, type SampleResult, Sampler, type SamplerDeps } from "./reply/sampler.ts";
import { traceCache, type TraceWriter } from "./trace/trace-writer.ts";
import { checkSize } from "./validate/check-rules.ts";

export interface ExchangeDeps extends AdmitDeps, SamplerDeps {
  readonly fingerprints: Fingerprints;
  readonly trace: TraceWriter | undefined;
}

/** A request whose shape has been checked, for a model that is known. */
export interface ExchangeInput {
  readonly n: number;
  readonly seed: number;
  readonly requestId: string;
  readonly messageId: string;
  /** Start of the request. Cache lifetimes are measured from here. */
  readonly at: Millis;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
  readonly fault: Fault | undefined;
  readonly request: MessagesRequest;
  /** The request as it arrived, for the trace. */
  readonly body: JsonObject;
  readonly model: Model;
  readonly signal: AbortSignal | undefined;
  /** Called once the reply has ended: with the reply if it reached the client whole, else with undefined. */
  readonly settle?: ((reply: ReplyMessage | undefined) => void) | undefined;
}

export type ExchangeOutcome =
  | { readonly kind: "message"; readonly message: object; readonly headers: AnswerHeaders }
  | { readonly kind: "cut"; readonly message: object; readonly place: CutPlace; readonly headers: AnswerHeaders }
  | { readonly kind: "stream"; readonly events: AsyncIterable<SentEvent>; readonly headers: AnswerHeaders }
  | EarlyOutcome;

/** Takes a request through validation, prompt, size check, cache, responder and pricing to its reply. */
export const exchange = (deps: ExchangeDeps, input: ExchangeInput): Promise<ExchangeOutcome> =>
  new Exchange(deps, input).run();

/** Everything about a reply that is decided before its first byte is sent. */
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
  readonly plan?: CachePlan | undefined;
}

class Exchange {
  readonly #deps: ExchangeDeps;
  readonly #input: ExchangeInput;
  readonly #sampler: Sampler;
  #isTraced = false;
  #beganAt: Millis;

  constructor(deps: ExchangeDeps, input: ExchangeInput) {
    this.#deps = deps;
    this.#input = input;
    this.#beganAt = input.at;
    this.#sampler = new Sampler(deps, { ...input, form: this.#form });
  }

  async run(): Promise<ExchangeOutcome> {
    const { request, model, betas, at } = this.#input;
    const original = admit(this.#deps, { ...this.#input, endpoint: "messages" });
    if (original.kind === "refused") return this.#endWithout(original, {});
    const minimumTokens = model.cachePrefixTokensMin;
    const look = (prompt: Prompt): CachePlan => this.#deps.cache.look({ prompt, at, minimumTokens });
    const admitted = { ...original, ...extension.show({ request, shown: original, look }) };
    const { prompt, traits } = admitted;
    const tooLong = checkSize({ request, model, betas, traits, promptTokens: prompt.tokens });
    if (tooLong !== undefined) return this.#endWithout(tooLong, { prompt });
    const due = findDueCompaction(request, prompt.tokens);
    if (due !== undefined) return this.#compact(due, admitted);
    const sampled = await this.#sample(messageSample({ request, admitted }));
    if (sampled.kind === "ended") return sampled.outcome;
    return this.#reply(this.#decide({ admitted, sampled: [sampled.sampled], said: sampled.sampled.said }));
  }

  /**
   * Asks the model for a summary first; then, unless the summary was all that was wanted, for its reply with the
   * summary in place of the messages.
   */
  async #compact(due: DueCompaction, admitted: AdmittedRequest): Promise<ExchangeOutcome> {
    const { request, model } = this.#input;
    const summing = await this.#sample(summarySample({ asked: due, request, admitted, model }));
    if (summing.kind === "ended") return summing.outcome;
    const { sampled: summary } = summing;
    const { prompt } = admitted;
    const said = summary.said.content;
    const block = buildCompactionBlock({
      asked: due,
      request,
      modelId: model.id,
      prompt,
      said,
      seal: this.#deps.compactions,
    });
    if (due.way === "on-demand" || (due.afterwards === "pause" && block.content !== null))
      return this.#reply(this.#decide({ admitted, sampled: [summary], said: compactionOnlyReply(block) }));
    // The model has answered, so what was written for the summary can be read from now on.
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
    const answered = await this.#sampler.ask(question);
    if (answered.kind === "ended") {
      const { outcome, plan } = answered;
      return {
        kind: "ended",
        outcome: await this.#endWithout(outcome, { prompt, plan }),
      };
    }
    await this.#trace({ prompt, plan: answered.plan });
    const sampled = await this.#sampler.complete(answered);
    return sampled === undefined ? { kind: "ended", outcome: this.#dropReply() } : { kind: "sampled", sampled };
  }

  /** The client has gone away, so there is no one to send the reply to. */
  #dropReply(): EarlyOutcome {
    this.#sampler.end("lost");
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
      fault: this.#sampler.fault,
      iterations: sampled,
      transformations: admitted.transformations,
      missReason: this.#missReason(admitted.prompt),
      edits: admitted.edits,
      besides: extension.report(request, sampled[0].plan),
    });
    const price = priceIterations(
      model,
      sampled.map((result) => toSpent(result, request)),
    );
    return { sampled, said, message, price };
  }

  async #reply(decided: ReplyDecision): Promise<ExchangeOutcome> {
    const headers = { [reportHeaders.cost]: String(decided.price.totalUsd) };
    if (this.#form === "stream") return { kind: "stream", events: this.#streamReply(decided), headers };
    const { fault } = this.#sampler;
    if (fault?.kind === "trickle")
      await this.#deps.clock.sleep(this.#trickleMillis(decided, fault.everyMs), this.#input.signal);
    if (this.#input.signal?.aborted === true) return this.#dropReply();
    const place = cutPlace(fault);
    this.#begin(decided);
    this.#end(decided, place === undefined ? "delivered" : "broken");
    const message = withRawInputs(decided.message, decided.said.rawInputs);
    return place === undefined ? { kind: "message", message, headers } : { kind: "cut", message, place, headers };
  }

  /** The time that the pauses between the events of a stream would have taken. */
  #trickleMillis({ message, said }: ReplyDecision, everyMillis: Millis): Millis {
    return millis(everyMillis * ([...messageEvents(message, said.rawInputs)].length - 1));
  }

  #streamReply(decided: ReplyDecision): AsyncIterable<SentEvent> {
    return deliver({
      events: messageEvents(decided.message, decided.said.rawInputs),
      form: messagesStreamFormat,
      fault: this.#sampler.fault,
      clock: this.#deps.clock,
      pauseMillis: decided.sampled.at(-1)?.pauseMillis,
      signal: this.#input.signal,
      onBegin: () => this.#begin(decided),
      onEnd: (outcome) => this.#end(decided, outcome),
    });
  }

  /** Called when the first byte goes out: from now on other requests can read what this one wrote to the cache. */
  #begin({ sampled, message }: ReplyDecision): void {
    this.#beganAt = this.#deps.clock.now();
    for (const { plan } of sampled) this.#deps.cache.commit(plan);
    // The next request continues from what the model was asked last.
    const { prompt } = sampled.at(-1) ?? sampled[0];
    this.#deps.fingerprints.remember(message.id, this.#fingerprint(prompt));
  }

  #end({ sampled, message, price }: ReplyDecision, outcome: "delivered" | "broken"): void {
    this.#input.settle?.(outcome === "delivered" ? message : undefined);
    this.#sampler.end(outcome === "delivered" ? "delivered" : "lost");
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
      iterations: compacted ? sampled : undefined,
      beganAt: this.#beganAt,
    });
  }

  /** Ends a request that gets no reply. */
  async #endWithout(ending: EarlyOutcome, known: KnownPrompt): Promise<EarlyOutcome> {
    await this.#trace(known, ending);
    const refused = ending.kind === "refused" ? ending : undefined;
    const { n } = this.#input;
    await this.#deps.trace?.reply({
      n,
      status: refused?.status ?? 0,
      outcome: refused === undefined ? "broken" : "refused",
      error: refused,
    });
    return ending;
  }

  /**
   * Traces the request once, with the first prompt that the model was asked. Waits only if the disk does not keep up.
   */
  async #trace({ prompt, plan }: KnownPrompt, ending?: EarlyOutcome): Promise<void> {
    if (this.#isTraced) return;
    this.#isTraced = true;
    const { fault } = this.#sampler;
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
      prompt,
      cache: plan === undefined ? undefined : traceCache(plan),
      faults: fault !== undefined && hasFaultStruck(fault, ending) ? [fault] : [],
    });
  }

  /** Undefined if the request did not ask for it; null if there is nothing to compare with or nothing diverged. */
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
