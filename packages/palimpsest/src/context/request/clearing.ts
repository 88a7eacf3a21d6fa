import { clearDownTo } from "../../layers/2-clear/by-size.ts";
import { isNear } from "../../layers/4-compact/due.ts";
import type { ClearedEvent, CompactAsk, LayerOutcome, LayerRun } from "../../layers/layer.ts";
import type { Offers } from "../../layers/pipeline-state.ts";
import { nextCandidate } from "../../layers/pipeline.ts";
import { offersOf } from "../../layers/server/run-offers.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock.ts";
import { millis } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { figure } from "../../schema/figure.ts";
import { compactDue, mayCompact } from "../compact/automatic.ts";
import { type Clearable, keepAsked, pipelineState, serverWant } from "./clearing-state.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps, NumbersDep, ToolsDep } from "../deps.ts";
import { headroom } from "./headroom.ts";
import { ConversationHost, ConversationSettling, type HostDeps } from "./layer-host.ts";

export interface ClearBefore {
  readonly conversation: Conversation;
  /** `turn`: this is the turn's first request. */
  readonly opens: "turn" | "nothing";
  readonly signal: AbortSignal;
}

/**
 * What the layers take out of the view before a request: never behind one, so that what a cold cache has to be sent anew is
 * as small as it can be. A disk that refuses fails no turn: then the view stays as it is, and that is told.
 */
export async function* clearBefore(deps: CompactionDeps & ToolsDep, before: ClearBefore): AsyncGenerator<LoopEvent> {
  const clearable = clearableOf(before);
  if (clearable !== undefined) yield* new LayerRunner(deps, { ...before, ...clearable }).run();
}

interface RunnerInput extends ClearBefore, Clearable {}

/** Asks for what is next, does it, and asks again, until there is nothing left to do. */
class LayerRunner {
  readonly #deps: CompactionDeps & ToolsDep;
  readonly #input: RunnerInput;
  /** By name. */
  readonly #acted = new Set<string>();
  #isLimitTried = false;

  constructor(deps: CompactionDeps & ToolsDep, input: RunnerInput) {
    this.#deps = deps;
    this.#input = input;
  }

  async *run(): AsyncGenerator<LoopEvent> {
    const { signal } = this.#input;
    follow(this.#input);
    for (;;) {
      const outcome = yield* this.#next();
      if (signal.aborted || outcome?.kind === "later") return;
      if (outcome === undefined) break;
      if (outcome.kind === "failed") yield unclearedWarning(outcome);
    }
    // What has just been tried in every way comes out the same again.
    if (!this.#isLimitTried) yield* this.#lastRung();
    yield* headroom(this.#input, this.#deps.numbers());
  }

  /** Undefined: there is nothing left to do. */
  async *#next(): AsyncGenerator<LoopEvent, LayerOutcome | undefined> {
    const { conversation, cache, opens, signal } = this.#input;
    keepAsked(this.#input);
    const numbers = this.#deps.numbers();
    const { layers, baseline } = conversation;
    const want = serverWant(this.#input, numbers);
    const offers = await offersOf(this.#deps, { layers, server: cache.server, want, model: baseline.model, signal });
    if (signal.aborted) return undefined;
    yield* this.#settle(offers);
    const compacts = mayCompact(this.#deps, conversation);
    const state = pipelineState({ ...this.#input, opens, numbers, offers, compacts, at: this.#deps.now() });
    cache.server.idledFor(state.idleMillis ?? millis(0));
    const candidate = nextCandidate({ layers, state, acted: this.#acted });
    if (candidate === undefined) {
      conversation.compacting?.preparation?.want(isNear(state) ? "yes" : "no");
      return undefined;
    }
    this.#acted.add(candidate.layer);
    const compact = (ask: CompactAsk): LayerRun => this.#compact(ask);
    return yield* new ConversationHost(this.#deps, { ...this.#input, state, candidate, compact }).run();
  }

  /** The messages stay as they were, and so does what the cache holds of them: there is nothing to follow. */
  async *#settle(offers: Offers | undefined): AsyncGenerator<LoopEvent> {
    const host = new ConversationSettling(this.#input, { offers, at: this.#deps.now() });
    for (const layer of this.#input.conversation.layers) if (layer.settle !== undefined) yield* layer.settle(host);
    if (host.hasEdited) keepAsked(this.#input);
  }

  async *#compact(ask: CompactAsk): LayerRun {
    const { conversation, signal } = this.#input;
    this.#isLimitTried ||= ask.cause === "limit";
    const made = yield* compactDue(this.#deps, { conversation, ask, signal });
    follow(this.#input);
    return { kind: made === "later" ? "later" : "compacted" };
  }

  /** Where nothing fits any more, whatever the layers did: then also without a model, so that the session never ends here. */
  async *#lastRung(): AsyncGenerator<LoopEvent> {
    const { thresholds, switches, policy } = this.#deps.numbers();
    const used = this.#input.conversation.line.usedTokens;
    if (used < thresholds.blocking || !switches["compact.auto"].value || policy.compact === undefined) return;
    const because = `${figure(used)} tokens ≥ ${figure(thresholds.blocking)}, over which no request can be sent`;
    yield* this.#compact({ cause: "limit", because });
  }
}

export interface ClearAsk {
  readonly conversation: Conversation;
  /** Of the results that stay. */
  readonly downToTokens: number;
}

/** By hand, between turns. Undefined: no more than that may be cleared. The caller tells the user of a disk that refused. */
export async function* clearAsked(
  deps: HostDeps & ClockDep & NumbersDep,
  { conversation, downToTokens }: ClearAsk,
): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
  const clearable = clearableOf({ conversation });
  if (clearable === undefined) return undefined;
  follow(clearable);
  keepAsked(clearable);
  const asked = { opens: "nothing", numbers: deps.numbers(), offers: undefined, at: deps.now() } as const;
  const state = pipelineState({ ...clearable, ...asked });
  const candidate = clearDownTo(state, downToTokens);
  if (candidate === undefined) return undefined;
  const outcome = yield* new ConversationHost(deps, { ...clearable, state, candidate }).run();
  if (outcome.kind === "edited") return outcome.event;
  return outcome.kind === "failed" ? outcome : undefined;
}

/** Undefined where nothing that was said is ever changed: in a fork. */
function clearableOf({ conversation }: Pick<ClearBefore, "conversation">): Clearable | undefined {
  const { cache } = conversation;
  const line = conversation.line.editable;
  return line === undefined || cache === undefined ? undefined : { conversation, line, cache };
}

/** The view may have been told anew. */
const follow = ({ cache, line: { inventory, fold }, conversation: { written } }: Clearable): void =>
  cache.follow({ inventory, fold, written });

const unclearedWarning = ({ message }: WriteFailure): LoopEvent => ({
  kind: "warning",
  code: "clear-failed",
  message: `Nothing was cleared: ${message}`,
});
