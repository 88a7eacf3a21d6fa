import type { ModelEvent, ModelPort, ModelRequest } from "palimpsest/internal/ports/model-port";
import { callRates } from "palimpsest/internal/cache/cache-rates";
import { findModel } from "palimpsest/internal/tokens/known-models";
import { messageId } from "palimpsest/internal/schema/brand";
import type { TextBlock } from "palimpsest/internal/schema/block";
import { Meter, type ReplayCache } from "./replay-cache.ts";
import type { RecordedRound } from "./recording/recording.ts";
import type { ReplayWorld } from "./replay-world.ts";
import type { SpendTracker } from "./spend-tracker.ts";
import type { AsideRequest, SentRequest } from "./trace-line.ts";

interface AbsentModelInput {
  readonly world: ReplayWorld;
  /** The conversation's system prompt: a request that begins with it comes from a fork. */
  readonly system: readonly TextBlock[];
  readonly meter: Meter;
  readonly cache: ReplayCache;
  readonly spending: SpendTracker;
  readonly windowTokens: number;
  readonly answer: (kind: AsideRequest["kind"]) => Promise<ModelAnswer>;
  readonly onRequest: ((sent: SentRequest) => void) | undefined;
}

interface ModelAnswer {
  readonly text: string;
  readonly outputTokens: number;
}

/**
 * Stands in for the model that writes summaries and notes. Each request is charged as the provider would charge it; it
 * writes nothing to the cache, and only a fork reads from it.
 */
export class AbsentModel implements ModelPort {
  readonly provider = "anthropic";
  readonly #input: AbsentModelInput;
  #replies = 0;
  /** The current round of the replay. */
  round: RecordedRound | undefined;
  requestKind: AsideRequest["kind"] = "compaction";
  /** If set, requests are only tried out: they are charged here and reported to nobody. */
  quote: SpendTracker | undefined;

  constructor(input: AbsentModelInput) {
    this.#input = input;
  }

  /** It has no capabilities. */
  describe(): ReturnType<ModelPort["describe"]> {
    return Promise.resolve({ capabilities: {} });
  }

  async *send(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const { round } = this;
    if (round === undefined) throw new Error("nothing was said yet");
    const { world, windowTokens, cache, onRequest, answer } = this.#input;
    const { quote } = this;
    const spending = quote ?? this.#input.spending;
    const kind = this.requestKind;
    const call = request.system === this.#input.system ? "fork" : "plain";
    const prompt = this.#toPrompt(request, call);
    if (prompt.tokens > windowTokens) {
      yield { kind: "failure", failure: { why: "too-long", retry: "never", message: "The prompt is too long." } };
      return;
    }
    const cacheReadTokens = call === "fork" ? cache.peek(prompt, round.at).cacheReadTokens : 0;
    const usage = {
      inputTokens: prompt.tokens - cacheReadTokens,
      cacheReadTokens,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
    };
    const rates =
      request.model === world.model.id
        ? undefined
        : callRates(findModel(request.model), { base: world.model, promptTokens: prompt.tokens });
    if (rates === undefined) spending.request(usage, call === "fork" ? "with-header" : "without-header");
    else spending.otherModel(usage.inputTokens, rates.input);
    if (quote === undefined) onRequest?.({ kind, call, round, prompt, usage });
    const { text, outputTokens } = quote === undefined ? await answer(kind) : unanswered;
    spending.output(outputTokens, rates?.output);
    const wireUsage = {
      input_tokens: usage.inputTokens,
      cache_read_input_tokens: cacheReadTokens,
      cache_creation_input_tokens: 0,
      output_tokens: outputTokens,
    };
    this.#replies += 1;
    yield { kind: "reply-start", id: messageId(`aside-${this.#replies}`), model: world.model.id, usage: wireUsage };
    yield { kind: "text-delta", index: 0, text };
    yield { kind: "block-end", index: 0, block: { type: "text", text } };
    yield { kind: "reply-end", stopReason: "end_turn", usage: wireUsage };
  }

  #toPrompt({ system, messages, breakpoints }: ModelRequest, call: AsideRequest["call"]) {
    const { world, meter } = this.#input;
    if (call === "fork") return meter.prompt(messages, breakpoints);
    const headerTokens = system.reduce((sum, block) => sum + world.tokensOf(block), 0);
    return new Meter({ headerTokens, tokensOf: world.tokensOf, ids: world.ids }).prompt(messages, []);
  }
}

const unanswered: ModelAnswer = { text: "Nothing.", outputTokens: 0 };
