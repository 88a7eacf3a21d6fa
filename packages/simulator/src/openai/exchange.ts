import { type Millis, millis } from "palimpsest/internal/schema/brand";
import type { Actor, Move, Scene, Take } from "../actor/actor.ts";
import { checkTake } from "../actor/check-take.ts";
import { summaryIn } from "../compaction/summary-in.ts";
import { summaryPrompt } from "../compaction/summary-prompt.ts";
import type { SimulatorClock } from "../clock.ts";
import { earlyFault, fits } from "../early-fault.ts";
import type { Fault } from "../fault.ts";
import { seededRandom } from "../random.ts";
import type { CachePlan, OpenAiCache } from "./cache.ts";
import { checkFit, checkWish } from "./check-wish.ts";
import type { CacheDiagnosis, OpenAiFingerprints } from "./diagnose.ts";
import { compactionUnavailable, type OpenAiRefusal, refused, translated } from "./error.ts";
import type { Wish } from "./item.ts";
import type { OpenAiModel } from "./models.ts";
import { ItemIds, type Output, outputOf } from "./output.ts";
import {
  type KnownSlices,
  type OpenAiPrompt,
  promptOf,
  type PromptRead,
  PromptWalk,
  type ShownItem,
} from "./prompt.ts";
import type { ItemSeal } from "./seal.ts";
import { shownItems } from "./shown.ts";
import type { Link, ResponseStore } from "./store.ts";
import { type MessagesInputs, messagesOf } from "./to-messages.ts";
import type { Run } from "./usage.ts";

export interface OpenAiExchangeDeps {
  readonly actor: Actor;
  readonly clock: SimulatorClock;
  readonly cache: OpenAiCache;
  readonly fingerprints: OpenAiFingerprints;
  readonly store: ResponseStore;
  readonly seal: ItemSeal;
  readonly known: KnownSlices;
  readonly seed: number;
}

export interface OpenAiExchangeInput {
  readonly n: number;
  /** Of the response or completion. */
  readonly id: string;
  readonly at: Millis;
  readonly workspace: string;
  readonly fault: Fault | undefined;
  readonly wish: Wish;
  readonly model: OpenAiModel;
  readonly signal: AbortSignal | undefined;
}

/** Everything about a reply that is decided before its first byte goes out. */
export interface Decided {
  readonly kind: "decided";
  readonly prompt: OpenAiPrompt;
  /** What the model was shown before it spoke. */
  readonly shown: readonly ShownItem[];
  readonly output: Output;
  readonly runs: readonly Run[];
  readonly takes: readonly Take[];
  /** Whose conversation this one goes on with. */
  readonly previous: Link | undefined;
  readonly fault: Fault | undefined;
  readonly pauseMillis: Millis | undefined;
  readonly diagnosis?: CacheDiagnosis;
}

export type Ended = OpenAiRefusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** A request as a prompt, or why it is none. */
export interface OpenAiAdmitted extends PromptRead {
  readonly kind: "admitted";
}

export function admitWish(
  deps: Pick<OpenAiExchangeDeps, "store" | "seal" | "known">,
  { wish, model, workspace }: Pick<OpenAiExchangeInput, "wish" | "model" | "workspace">,
): OpenAiAdmitted | OpenAiRefusal {
  const wrong = checkWish(wish, model);
  if (wrong !== undefined) return wrong;
  const shown = shownItems(deps, { wish, model, workspace });
  if (shown.kind === "refused") return shown;
  return { kind: "admitted", ...promptRead(deps, { wish, model, items: shown.items }) };
}

interface Rendered {
  readonly wish: Wish;
  readonly model: OpenAiModel;
  readonly items: readonly ShownItem[];
}

const promptRead = ({ known }: Pick<OpenAiExchangeDeps, "known">, { wish, model, items }: Rendered): PromptRead =>
  promptOf({
    wish,
    items,
    known,
    modelId: model.id,
    binding: model.caching === "breakpoints" ? "bound" : "free",
  });

/** From a request to its reply: rules, prompt, size, compaction, actor, cache. */
export class OpenAiExchange {
  readonly #deps: OpenAiExchangeDeps;
  readonly #input: OpenAiExchangeInput;
  readonly #ids: ItemIds;
  readonly #takes: Take[] = [];
  /** From the beginning on: it may be forgotten while the model is asked. */
  readonly #previous: Link | undefined;
  #at: Millis;
  /** Of the request, else the first that a take brings. */
  #fault: Fault | undefined;
  #plays = 0;

  constructor(deps: OpenAiExchangeDeps, input: OpenAiExchangeInput) {
    this.#deps = deps;
    this.#input = input;
    this.#ids = new ItemIds(deps.seed, input.n);
    this.#at = input.at;
    this.#fault = input.fault;
    const { previousId } = input.wish;
    this.#previous = previousId === undefined ? undefined : deps.store.find(previousId, input.workspace)?.link;
  }

  async reply(): Promise<Decided | Ended> {
    const { wish } = this.#input;
    const admitted = this.#admitted();
    if (admitted.kind === "refused") return admitted;
    if (this.#isWarming) return this.#answer(admitted);
    if (wish.items.at(-1)?.kind === "compaction-trigger") return this.#onlyCompact(admitted, "all");
    const { compactThresholdTokens: threshold } = wish;
    if (threshold !== undefined && admitted.prompt.tokens > threshold) return this.#compactFirst(admitted, threshold);
    return this.#answer(admitted);
  }

  /** The whole conversation as one item, for whoever asks for nothing else. */
  async compact(): Promise<Decided | Ended> {
    const admitted = this.#admitted();
    return admitted.kind === "refused" ? admitted : this.#onlyCompact(admitted, "beside");
  }

  #admitted(): OpenAiAdmitted | OpenAiRefusal {
    const { wish, model } = this.#input;
    const admitted = admitWish(this.#deps, this.#input);
    if (admitted.kind === "refused") return admitted;
    return checkFit(wish, { model, promptTokens: admitted.prompt.tokens }) ?? admitted;
  }

  /** The prompt is only to be in the cache: nobody is asked. */
  get #isWarming(): boolean {
    return this.#input.wish.cache.options?.prewarm === true;
  }

  async #onlyCompact(read: PromptRead, covers: "all" | "beside"): Promise<Decided | Ended> {
    const made = await this.#summary(read);
    if (made.kind === "none") {
      this.lost();
      return noSummary();
    }
    if (made.kind !== "summary") return made;
    const { run, pauseMillis } = made;
    const item = this.#compactionItem(made.summary, covers);
    const output: Output = { items: [item], ending: "stop", outputTokens: run.outputTokens, reasoningTokens: 0 };
    return this.#decided(read, { output, runs: [run], pauseMillis });
  }

  /** The reply goes on behind the summary, and has before it what was said last where there is room for that. */
  async #compactFirst(read: PromptRead, threshold: number): Promise<Decided | Ended> {
    const made = await this.#summary(read);
    if (made.kind === "none") return this.#answer(read);
    if (made.kind !== "summary") return made;
    const { wish, model } = this.#input;
    const compaction: ShownItem = { kind: "compaction", summary: made.summary };
    const start = read.items.findLastIndex((item) => item.kind === "message" && item.role === "user");
    const newest = read.items.slice(start).filter(({ kind }) => kind !== "reasoning");
    const withNewest = promptRead(this.#deps, { wish, model, items: [compaction, ...newest] });
    const alone = promptRead(this.#deps, { wish, model, items: [compaction] });
    const next = start >= 0 && withNewest.prompt.tokens < threshold ? withNewest : alone;
    // Later requests begin with the summary: what is thought now has to stand behind that.
    const answered = await this.#answer(next, { chain: alone.prompt.chain, run: made.run });
    if (answered.kind !== "decided") return answered;
    const item = this.#compactionItem(made.summary, "all");
    return { ...answered, output: { ...answered.output, items: [item, ...answered.output.items] } };
  }

  #compactionItem(summary: string, covers: "all" | "beside"): Output["items"][number] {
    const sealed = this.#deps.seal.close("compaction", { summary, covers });
    return { kind: "compaction", id: this.#ids.next("cmp"), sealed };
  }

  async #summary({ items, prompt }: PromptRead): Promise<Summarised> {
    const { wish, model } = this.#input;
    const asked: Wish = { ...wish, tools: [], toolChoice: "none", stop: [], reasoning: noReasoning };
    const ask: ShownItem = { kind: "message", role: "user", parts: [{ kind: "text", text: summaryPrompt }] };
    const heard = await this.#ask("compaction", {
      wish: asked,
      items: [...items, ask],
      prompt,
      tokensMax: model.outputTokensMax,
      chain: "",
    });
    if (heard.kind !== "heard") return heard;
    const { run, output, pauseMillis } = heard;
    const summary = summaryIn({
      texts: output.items.flatMap((item) => (item.kind === "message" ? [item.text] : [])),
      calls: output.items.filter(({ kind }) => kind === "call").length,
    });
    return summary === undefined ? { kind: "none" } : { kind: "summary", summary, run, pauseMillis };
  }

  async #answer(read: PromptRead, before?: Before): Promise<Decided | Ended> {
    const { prompt, items } = read;
    const { wish, model } = this.#input;
    const tokensMax = Math.min(wish.maxOutputTokens ?? model.outputTokensMax, model.windowTokens - prompt.tokens);
    const heard = await this.#ask("reply", { wish, items, prompt, tokensMax, chain: before?.chain ?? prompt.chain });
    if (heard.kind !== "heard") return heard;
    const { run, output, pauseMillis } = heard;
    return this.#decided(read, { output, runs: before === undefined ? [run] : [before.run, run], pauseMillis });
  }

  /** What the actor says in the end: after its fault and its wait, if the client is still there. */
  async #ask(purpose: Scene["purpose"], question: Question): Promise<Heard | Ended> {
    const { model, signal } = this.#input;
    const { wish, items, prompt, tokensMax, chain } = question;
    const take = this.#isWarming ? warming : await this.#play(purpose, { wish, model, items, maxTokens: tokensMax });
    if (this.#fault === undefined) this.#befall(take);
    const early = this.#early(purpose);
    if (early !== undefined) {
      this.lost();
      return early;
    }
    if (take.move.kind === "refuse") {
      // A refusal is a whole answer; what was asked before it is not part of one.
      for (const earlier of this.#takes.slice(0, -1)) earlier.lost?.();
      return translated(take.move.refusal);
    }
    const plan = this.#look(prompt);
    if (take.move.delayMs !== undefined) await this.#deps.clock.sleep(take.move.delayMs, signal);
    if (signal?.aborted === true) {
      this.lost();
      return { kind: "dropped" };
    }
    const walk = new PromptWalk(this.#deps.known, chain);
    const { seal } = this.#deps;
    const output = outputOf({ move: take.move, wish, model, tokensMax, seal, walk, ids: this.#ids });
    const { outputTokens, reasoningTokens } = output;
    const run = { promptTokens: prompt.tokens, plan, outputTokens, reasoningTokens };
    return { kind: "heard", output, run, pauseMillis: take.move.pauseMs };
  }

  #early(purpose: Scene["purpose"]): Ended | undefined {
    if (purpose === "compaction" && this.#fault?.kind === "compaction-unavailable") return compactionUnavailable();
    const early = earlyFault(this.#fault, this.#input.wish.form);
    return early?.kind === "refused" ? translated(early) : early;
  }

  #decided({ prompt, items }: PromptRead, reply: Pick<Decided, "output" | "runs" | "pauseMillis">): Decided {
    const { wish, workspace } = this.#input;
    const comparison = wish.cache.options?.comparisonId;
    const cachedTokens = reply.runs.at(-1)?.plan.cachedTokens ?? 0;
    return {
      kind: "decided",
      prompt,
      shown: items,
      ...reply,
      fault: this.#fault,
      takes: this.#takes,
      previous: this.#previous,
      ...(comparison === undefined
        ? {}
        : { diagnosis: this.#deps.fingerprints.compare(comparison, { prompt, workspace, cachedTokens }) }),
    };
  }

  /** Of the request or of the actor. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Whoever was asked may say it again. */
  lost(): void {
    for (const take of this.#takes) take.lost?.();
  }

  #look(prompt: OpenAiPrompt): CachePlan {
    const { workspace, model, wish } = this.#input;
    return this.#deps.cache.look({ prompt, workspace, at: this.#at, caching: model.caching, wish: wish.cache });
  }

  async #play(purpose: Scene["purpose"], asked: MessagesInputs): Promise<Take> {
    this.#plays += 1;
    const { seed, actor, clock } = this.#deps;
    const random = seededRandom(Math.imul(seed, 0x9e3779b1) + this.#input.n + Math.imul(this.#plays - 1, 0x85ebca6b));
    const take = await actor.play({ request: messagesOf(asked), purpose, now: clock.now(), random });
    checkTake(take);
    this.#takes.push(take);
    return take;
  }

  /** The take's fault happens, where it can; the request's own has struck when it came. */
  #befall({ fault, faulted }: Take): void {
    if (fault === undefined || !fits(fault, this.#input.wish.form)) return;
    faulted?.();
    this.#fault = fault;
    if (fault.kind === "cache-lost") this.#deps.cache.lose();
    if (fault.kind !== "clock-jump") return;
    this.#deps.clock.advance(fault.byMs);
    this.#at = millis(this.#deps.clock.now());
  }
}

/** What the model is asked. */
interface Question {
  readonly wish: Wish;
  readonly items: readonly ShownItem[];
  readonly prompt: OpenAiPrompt;
  readonly tokensMax: number;
  /** Behind which it speaks: what it thinks is bound to that. */
  readonly chain: string;
}

interface Heard {
  readonly kind: "heard";
  readonly output: Output;
  readonly run: Run;
  readonly pauseMillis: Millis | undefined;
}

type Summarised =
  | ({ readonly kind: "summary"; readonly summary: string } & Pick<Heard, "run" | "pauseMillis">)
  | { readonly kind: "none" }
  | Ended;

/** What went before the answer. */
interface Before {
  readonly chain: string;
  readonly run: Run;
}

const noReasoning: Wish["reasoning"] = { effort: "none", context: "auto" };

const warming: { readonly move: Extract<Move, { kind: "say" }> } & Take = { move: { kind: "say", blocks: [] } };

const noSummary = (): OpenAiRefusal =>
  refused("The conversation could not be compacted: the model wrote no summary.", {
    status: 500,
    type: "server_error",
  });
