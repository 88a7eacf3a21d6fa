import type { Millis } from "palimpsest/internal/schema/brand";
import type { Model } from "palimpsest/internal/schema/model";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import {
  type Responder,
  type Move,
  type RespondInput,
  type PlannedReply,
  checkPlannedReply,
} from "../responder/responder.ts";
import type { CachePlan, PromptCache } from "palimpsest/internal/cache/prompt-cache";
import type { SimulatorClock } from "../simulator-clock.ts";
import {
  compactionUnavailableCode,
  type EarlyOutcome,
  earlyFault,
  canStrike,
  type ReplyForm,
  type Fault,
} from "../fault/fault.ts";
import { shortHash } from "../prompt/canonical-block.ts";
import type { Iteration } from "./iteration.ts";
import type { ModelTraits } from "../prompt/model-traits.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { createRandom } from "../random.ts";
import { refusal, type Refusal } from "../refusal.ts";
import { type ComposedReply, composeReply } from "./compose-reply.ts";
import type { ThinkingSeal } from "../prompt/thinking-seal.ts";

export interface SamplerDeps {
  readonly responder: Responder;
  readonly clock: SimulatorClock;
  readonly cache: PromptCache;
  readonly seal: ThinkingSeal;
}

interface SamplerInput {
  readonly n: number;
  readonly seed: number;
  readonly at: Millis;
  readonly fault: Fault | undefined;
  readonly model: Model;
  readonly signal: AbortSignal | undefined;
  readonly form: ReplyForm;
}

/** What the model is asked. */
export interface SampleRequest {
  readonly type: Iteration["type"];
  /** As the model is shown it. */
  readonly request: MessagesRequest;
  readonly prompt: Prompt;
  readonly traits: ModelTraits;
}

type AskOutcome =
  | { readonly kind: "taken"; readonly question: SampleRequest; readonly plan: CachePlan; readonly move: SayMove }
  /** `plan` is present if the cache was consulted before. */
  | { readonly kind: "ended"; readonly outcome: EarlyOutcome; readonly plan?: CachePlan };

type SayMove = Extract<Move, { kind: "say" }>;

export interface SampleResult extends Iteration {
  readonly prompt: Prompt;
  readonly plan: CachePlan;
  readonly said: ComposedReply;
  readonly pauseMillis: Millis | undefined;
}

/**
 * The model behind one request, which may ask it several times. All of its replies end together: they reach the client
 * or they do not. At most one fault strikes the request: its own, or else the first that a reply brings.
 */
export class Sampler {
  readonly #deps: SamplerDeps;
  readonly #input: SamplerInput;
  readonly #replies: PlannedReply[] = [];
  #at: Millis;
  #calls = 0;
  #fault: Fault | undefined;

  constructor(deps: SamplerDeps, input: SamplerInput) {
    this.#deps = deps;
    this.#input = input;
    this.#at = input.at;
    this.#fault = input.fault;
  }

  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Asks the responder and consults the cache. If the responder fails, all replies are lost. */
  async ask(question: SampleRequest): Promise<AskOutcome> {
    const reply = await this.#askResponder(question);
    if (this.#fault === undefined) this.#applyFault(reply);
    const early = this.#earlyOutcome(question);
    if (early !== undefined) {
      this.end("lost");
      return { kind: "ended", outcome: early };
    }
    const minimumTokens = this.#input.model.cachePrefixTokensMin;
    const plan = this.#deps.cache.look({ prompt: question.prompt, at: this.#at, minimumTokens });
    if (reply.move.kind === "say") return { kind: "taken", question, plan, move: reply.move };
    // A refusal is a complete answer of its own; the replies before it are not part of it.
    for (const earlier of this.#replies.slice(0, -1)) earlier.lost?.();
    return { kind: "ended", outcome: reply.move.refusal, plan };
  }

  /**
   * The finished reply, after the wait that the responder asks for. Undefined if the client has gone away meanwhile.
   */
  async complete({ question, plan, move }: Extract<AskOutcome, { kind: "taken" }>): Promise<SampleResult | undefined> {
    const { model, signal } = this.#input;
    if (move.delayMs !== undefined) await this.#deps.clock.sleep(move.delayMs, signal);
    if (signal?.aborted === true) return undefined;
    const { type, prompt } = question;
    const said = composeReply({ ...question, move, model, seal: this.#deps.seal, toolUseId: () => this.#toolUseId() });
    this.#replies.at(-1)?.called?.(said.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])));
    const { outputTokens } = said;
    return { type, prompt, plan, split: plan.usage, outputTokens, said, pauseMillis: move.pauseMs };
  }

  end(how: "delivered" | "lost"): void {
    for (const reply of this.#replies) reply[how]?.();
  }

  async #askResponder(question: SampleRequest): Promise<PlannedReply> {
    try {
      const reply = await this.#respond(question);
      if (reply?.move !== undefined) this.#replies.push(reply);
      checkPlannedReply(reply);
      return reply;
    } catch (error) {
      this.end("lost");
      throw error;
    }
  }

  /**
   * Undefined, whatever the responder's type says, if it returns nothing. A request for no tokens only warms the cache:
   * the responder is not asked.
   */
  async #respond({ type, request }: SampleRequest): Promise<PlannedReply | undefined> {
    const { seed, n } = this.#input;
    if (request.max_tokens === 0) return { move: { kind: "say", blocks: [], stop: "max_tokens" } };
    const random = createRandom((Math.imul(seed, 0x9e3779b1) + n) ^ diceByType[type]);
    return this.#deps.responder.respond({ request, purpose: purposeByType[type], now: this.#deps.clock.now(), random });
  }

  /** Applies the reply's fault if it can strike. The request's own fault has already struck. */
  #applyFault({ fault, faulted }: PlannedReply): void {
    if (fault === undefined || !canStrike(fault, this.#input.form)) return;
    faulted?.();
    this.#fault = fault;
    if (fault.kind === "cache-lost") this.#deps.cache.lose();
    if (fault.kind !== "clock-jump") return;
    this.#deps.clock.advance(fault.byMs);
    this.#at = this.#deps.clock.now();
  }

  #earlyOutcome({ type }: SampleRequest): EarlyOutcome | undefined {
    return type === "compaction" && this.#fault?.kind === "compaction-unavailable"
      ? compactionUnavailable()
      : earlyFault(this.#fault, this.#input.form);
  }

  /** Unique in the simulator's life, and the same for the same seed. */
  #toolUseId(): string {
    const { seed, n } = this.#input;
    this.#calls += 1;
    return `toolu_${shortHash(`${seed} ${n} call ${this.#calls}`)}`;
  }
}

const purposeByType: Readonly<Record<Iteration["type"], RespondInput["purpose"]>> = {
  message: "reply",
  compaction: "compaction",
};

/** Gives the summary other random numbers than the reply after it. */
const diceByType: Readonly<Record<Iteration["type"], number>> = { message: 0, compaction: 0x5bd1e995 };

const compactionUnavailable = (): Refusal =>
  refusal("overloaded_error", "The conversation could not be compacted for the moment. Please try again.", {
    errorCode: compactionUnavailableCode,
  });
