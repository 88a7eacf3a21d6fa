import { type Millis, millis } from "palimpsest/internal/schema/brand";
import {
  type Responder,
  type Move,
  type RespondInput,
  type PlannedReply,
  checkPlannedReply,
} from "../responder/responder.ts";
import { parseSummary } from "../compaction/build-compaction-block.ts";
import { summaryPrompt } from "../compaction/compaction-block.ts";
import type { SimulatorClock } from "../simulator-clock.ts";
import { earlyFault, canStrike, type Fault } from "../fault/fault.ts";
import { createRandom } from "../random.ts";
import type { CachePlan, OpenAiCache, CacheDiagnosis, OpenAiFingerprints, ModelRun } from "./open-ai-cache.ts";
import { checkFit, checkRequest } from "./check-request.ts";
import { compactionUnavailable, type OpenAiRefusal, refuseRequest, translateRefusal } from "./open-ai-refusal.ts";
import { listCallableTools, type OpenAiRequest } from "./open-ai-request.ts";
import type { OpenAiModel } from "./open-ai-models.ts";
import {
  ItemIds,
  type Output,
  composeOutput,
  type MessagesRequestInput,
  toMessagesRequest,
  type ItemSeal,
} from "./output.ts";
import {
  type KnownSlices,
  type OpenAiPrompt,
  buildPrompt,
  type BuiltPrompt,
  PromptWalk,
  type ShownItem,
} from "./open-ai-prompt.ts";
import { listShownItems } from "./list-shown-items.ts";
import type { ConversationLink, ResponseStore } from "./response-store.ts";

export interface OpenAiExchangeDeps {
  readonly responder: Responder;
  readonly clock: SimulatorClock;
  readonly cache: OpenAiCache;
  readonly fingerprints: OpenAiFingerprints;
  readonly store: ResponseStore;
  readonly seal: ItemSeal;
  readonly known: KnownSlices;
  readonly seed: number;
}

interface OpenAiExchangeInput {
  readonly n: number;
  /** Id of the response or completion. */
  readonly id: string;
  readonly at: Millis;
  readonly workspace: string;
  readonly fault: Fault | undefined;
  readonly request: OpenAiRequest;
  readonly model: OpenAiModel;
  readonly signal: AbortSignal | undefined;
}

/** Everything about a reply that is decided before its first byte is sent. */
export interface OpenAiReplyDecision {
  readonly kind: "decided";
  readonly prompt: OpenAiPrompt;
  /** What the model was shown. */
  readonly shown: readonly ShownItem[];
  readonly output: Output;
  readonly runs: readonly ModelRun[];
  readonly replies: readonly PlannedReply[];
  /** The conversation that this one continues. */
  readonly previous: ConversationLink | undefined;
  readonly fault: Fault | undefined;
  readonly pauseMillis: Millis | undefined;
  readonly diagnosis?: CacheDiagnosis;
}

export type OpenAiEarlyOutcome = OpenAiRefusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** A request that passed validation, as a prompt. */
interface AdmittedPrompt extends BuiltPrompt {
  readonly kind: "admitted";
}

export function admitRequest(
  deps: Pick<OpenAiExchangeDeps, "store" | "seal" | "known">,
  { request, model, workspace }: Pick<OpenAiExchangeInput, "request" | "model" | "workspace">,
): AdmittedPrompt | OpenAiRefusal {
  const refused = checkRequest(request, model);
  if (refused !== undefined) return refused;
  const shown = listShownItems(deps, { request, model, workspace });
  if (shown.kind === "refused") return shown;
  return { kind: "admitted", ...readPrompt(deps, { request, model, items: shown.items }) };
}

const readPrompt = (
  { known }: Pick<OpenAiExchangeDeps, "known">,
  {
    request,
    model,
    items,
  }: { readonly request: OpenAiRequest; readonly model: OpenAiModel; readonly items: readonly ShownItem[] },
): BuiltPrompt =>
  buildPrompt({
    request,
    items,
    known,
    modelId: model.id,
    binding: model.caching === "breakpoints" ? "bound" : "free",
  });

/** Takes a request through validation, prompt, size check, compaction, responder and cache to its reply. */
export class OpenAiExchange {
  readonly #deps: OpenAiExchangeDeps;
  readonly #input: OpenAiExchangeInput;
  readonly #ids: ItemIds;
  readonly #replies: PlannedReply[] = [];
  /** Looked up at the start, because it may be forgotten while the responder is asked. */
  readonly #previous: ConversationLink | undefined;
  #at: Millis;
  /** The request's own fault, or else the first that a reply brings. */
  #fault: Fault | undefined;
  #respondCalls = 0;

  constructor(deps: OpenAiExchangeDeps, input: OpenAiExchangeInput) {
    this.#deps = deps;
    this.#input = input;
    this.#ids = new ItemIds(deps.seed, input.n);
    this.#at = input.at;
    this.#fault = input.fault;
    const { previousId } = input.request;
    this.#previous = previousId === undefined ? undefined : deps.store.find(previousId, input.workspace)?.link;
  }

  async reply(): Promise<OpenAiReplyDecision | OpenAiEarlyOutcome> {
    const { request } = this.#input;
    const admitted = this.#admit();
    if (admitted.kind === "refused") return admitted;
    if (this.#isWarming) return this.#answer(admitted);
    if (request.items.at(-1)?.kind === "compaction-trigger") return this.#onlyCompact(admitted, "all");
    const { compactThresholdTokens: threshold } = request;
    if (threshold !== undefined && admitted.prompt.tokens > threshold) return this.#compactFirst(admitted, threshold);
    return this.#answer(admitted);
  }

  /** Returns the whole conversation as one item, for a client that only wants a compaction. */
  async compact(): Promise<OpenAiReplyDecision | OpenAiEarlyOutcome> {
    const admitted = this.#admit();
    return admitted.kind === "refused" ? admitted : this.#onlyCompact(admitted, "beside");
  }

  #admit(): AdmittedPrompt | OpenAiRefusal {
    const { request, model } = this.#input;
    const admitted = admitRequest(this.#deps, this.#input);
    if (admitted.kind === "refused") return admitted;
    return checkFit(request, { model, promptTokens: admitted.prompt.tokens }) ?? admitted;
  }

  /** Whether the request only warms the cache; the responder is not asked then. */
  get #isWarming(): boolean {
    return this.#input.request.cache.options?.prewarm === true;
  }

  async #onlyCompact(read: BuiltPrompt, covers: "all" | "beside"): Promise<OpenAiReplyDecision | OpenAiEarlyOutcome> {
    const summarised = await this.#summarise(read);
    if (summarised.kind === "none") {
      this.lost();
      return noSummary();
    }
    if (summarised.kind !== "summary") return summarised;
    const { run, pauseMillis } = summarised;
    const item = this.#compactionItem(summarised.summary, covers);
    const output: Output = { items: [item], ending: "stop", outputTokens: run.outputTokens, reasoningTokens: 0 };
    return this.#decide(read, { output, runs: [run], pauseMillis });
  }

  /** The reply comes after the summary. If there is room, the newest turn stays between the two. */
  async #compactFirst(read: BuiltPrompt, threshold: number): Promise<OpenAiReplyDecision | OpenAiEarlyOutcome> {
    const summarised = await this.#summarise(read);
    if (summarised.kind === "none") return this.#answer(read);
    if (summarised.kind !== "summary") return summarised;
    const { request, model } = this.#input;
    const compaction: ShownItem = { kind: "compaction", summary: summarised.summary };
    const start = read.items.findLastIndex((item) => item.kind === "message" && item.role === "user");
    const newest = read.items.slice(start).filter(({ kind }) => kind !== "reasoning");
    const withNewest = readPrompt(this.#deps, { request, model, items: [compaction, ...newest] });
    const alone = readPrompt(this.#deps, { request, model, items: [compaction] });
    const next = start >= 0 && withNewest.prompt.tokens < threshold ? withNewest : alone;
    // Later requests begin with the summary, so the reasoning of this reply must be bound to that prefix.
    const answered = await this.#answer(next, { chain: alone.prompt.chain, run: summarised.run });
    if (answered.kind !== "decided") return answered;
    const item = this.#compactionItem(summarised.summary, "all");
    return { ...answered, output: { ...answered.output, items: [item, ...answered.output.items] } };
  }

  #compactionItem(summary: string, covers: "all" | "beside"): Output["items"][number] {
    const sealed = this.#deps.seal.close("compaction", { summary, covers });
    return { kind: "compaction", id: this.#ids.next("cmp"), sealed };
  }

  async #summarise({ items, prompt }: BuiltPrompt): Promise<SummaryOutcome> {
    const { request, model } = this.#input;
    const summaryRequest: OpenAiRequest = {
      ...request,
      tools: [],
      toolChoice: "none",
      stop: [],
      reasoning: noReasoning,
    };
    const ask: ShownItem = { kind: "message", role: "user", parts: [{ kind: "text", text: summaryPrompt }] };
    const result = await this.#ask("compaction", {
      request: summaryRequest,
      items: [...items, ask],
      prompt,
      tokensMax: model.outputTokensMax,
      chain: "",
    });
    if (result.kind !== "output") return result;
    const { run, output, pauseMillis } = result;
    const summary = parseSummary({
      texts: output.items.flatMap((item) => (item.kind === "message" ? [item.text] : [])),
      calls: output.items.filter(({ kind }) => kind === "call").length,
    });
    return summary === undefined ? { kind: "none" } : { kind: "summary", summary, run, pauseMillis };
  }

  async #answer(read: BuiltPrompt, before?: EarlierRun): Promise<OpenAiReplyDecision | OpenAiEarlyOutcome> {
    const { prompt, items } = read;
    const { request, model } = this.#input;
    const tokensMax = Math.min(request.maxOutputTokens ?? model.outputTokensMax, model.windowTokens - prompt.tokens);
    const result = await this.#ask("reply", {
      request,
      items,
      prompt,
      tokensMax,
      chain: before?.chain ?? prompt.chain,
    });
    if (result.kind !== "output") return result;
    const { run, output, pauseMillis } = result;
    return this.#decide(read, { output, runs: before === undefined ? [run] : [before.run, run], pauseMillis });
  }

  /** Asks the responder, applies its fault and waits as long as it says; dropped if the client goes away meanwhile. */
  async #ask(purpose: RespondInput["purpose"], question: AskInput): Promise<AskResult | OpenAiEarlyOutcome> {
    const { model, signal } = this.#input;
    const { request, items, prompt, tokensMax, chain } = question;
    const reply = this.#isWarming
      ? prewarmReply
      : await this.#respond(purpose, { request, model, items, maxTokens: tokensMax });
    if (this.#fault === undefined) this.#applyFault(reply);
    const early = this.#earlyOutcome(purpose);
    if (early !== undefined) {
      this.lost();
      return early;
    }
    if (reply.move.kind === "refuse") {
      // A refusal is a complete answer of its own; the replies before it are not part of it.
      for (const earlier of this.#replies.slice(0, -1)) earlier.lost?.();
      return translateRefusal(reply.move.refusal);
    }
    const plan = this.#look(prompt);
    if (reply.move.delayMs !== undefined) await this.#deps.clock.sleep(reply.move.delayMs, signal);
    if (signal?.aborted === true) {
      this.lost();
      return { kind: "dropped" };
    }
    const walk = new PromptWalk(this.#deps.known, chain);
    const { seal } = this.#deps;
    const tools = listCallableTools(request.tools, items);
    const output = composeOutput({ move: reply.move, request, model, tools, tokensMax, seal, walk, ids: this.#ids });
    reply.called?.(output.items.flatMap((item) => (item.kind === "call" ? [item.callId] : [])));
    const { outputTokens, reasoningTokens } = output;
    const run = { promptTokens: prompt.tokens, plan, outputTokens, reasoningTokens };
    return { kind: "output", output, run, pauseMillis: reply.move.pauseMs };
  }

  #earlyOutcome(purpose: RespondInput["purpose"]): OpenAiEarlyOutcome | undefined {
    if (purpose === "compaction" && this.#fault?.kind === "compaction-unavailable") return compactionUnavailable();
    const early = earlyFault(this.#fault, this.#input.request.form);
    return early?.kind === "refused" ? translateRefusal(early) : early;
  }

  #decide(
    { prompt, items }: BuiltPrompt,
    reply: Pick<OpenAiReplyDecision, "output" | "runs" | "pauseMillis">,
  ): OpenAiReplyDecision {
    const { request, workspace } = this.#input;
    const comparison = request.cache.options?.comparisonId;
    const cachedTokens = reply.runs.at(-1)?.plan.cachedTokens ?? 0;
    return {
      kind: "decided",
      prompt,
      shown: items,
      ...reply,
      fault: this.#fault,
      replies: this.#replies,
      previous: this.#previous,
      ...(comparison === undefined
        ? {}
        : { diagnosis: this.#deps.fingerprints.compare(comparison, { prompt, workspace, cachedTokens }) }),
    };
  }

  /** The fault of the request or of the responder. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Tells the responder that its replies are lost, so that it may give them again. */
  lost(): void {
    for (const reply of this.#replies) reply.lost?.();
  }

  #look(prompt: OpenAiPrompt): CachePlan {
    const { workspace, model, request } = this.#input;
    return this.#deps.cache.look({ prompt, workspace, at: this.#at, caching: model.caching, request: request.cache });
  }

  async #respond(purpose: RespondInput["purpose"], input: MessagesRequestInput): Promise<PlannedReply> {
    const reply = await this.#askResponder(purpose, input);
    if (reply?.move !== undefined) this.#replies.push(reply);
    checkPlannedReply(reply);
    return reply;
  }

  /** Undefined, whatever the responder's type says, if it returns nothing. */
  async #askResponder(
    purpose: RespondInput["purpose"],
    input: MessagesRequestInput,
  ): Promise<PlannedReply | undefined> {
    this.#respondCalls += 1;
    const { seed, responder, clock } = this.#deps;
    const random = createRandom(
      Math.imul(seed, 0x9e3779b1) + this.#input.n + Math.imul(this.#respondCalls - 1, 0x85ebca6b),
    );
    return responder.respond({ request: toMessagesRequest(input), purpose, now: clock.now(), random });
  }

  /** Applies the reply's fault if it can strike. The request's own fault has already struck. */
  #applyFault({ fault, faulted }: PlannedReply): void {
    if (fault === undefined || !canStrike(fault, this.#input.request.form)) return;
    faulted?.();
    this.#fault = fault;
    if (fault.kind === "cache-lost") this.#deps.cache.lose();
    if (fault.kind !== "clock-jump") return;
    this.#deps.clock.advance(fault.byMs);
    this.#at = millis(this.#deps.clock.now());
  }
}

/** What the model is asked. */
interface AskInput {
  readonly request: OpenAiRequest;
  readonly items: readonly ShownItem[];
  readonly prompt: OpenAiPrompt;
  readonly tokensMax: number;
  /** Hash of the prefix of the reply: its reasoning is bound to it. */
  readonly chain: string;
}

interface AskResult {
  readonly kind: "output";
  readonly output: Output;
  readonly run: ModelRun;
  readonly pauseMillis: Millis | undefined;
}

type SummaryOutcome =
  | ({ readonly kind: "summary"; readonly summary: string } & Pick<AskResult, "run" | "pauseMillis">)
  | { readonly kind: "none" }
  | OpenAiEarlyOutcome;

/** The run before the reply. */
interface EarlierRun {
  readonly chain: string;
  readonly run: ModelRun;
}

const noReasoning: OpenAiRequest["reasoning"] = { effort: "none", context: "auto" };

const prewarmReply: { readonly move: Extract<Move, { kind: "say" }> } & PlannedReply = {
  move: { kind: "say", blocks: [] },
};

const noSummary = (): OpenAiRefusal =>
  refuseRequest("The conversation could not be compacted: the model wrote no summary.", {
    status: 500,
    type: "server_error",
  });
