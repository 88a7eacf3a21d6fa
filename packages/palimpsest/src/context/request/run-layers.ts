import { clearDownTo } from "../../layers/2-clear/clear-by-size.ts";
import { isNearThreshold } from "../../layers/4-compact/compact-when-due.ts";
import type { ClearedEvent, CompactRequest, LayerOutcome, LayerRun } from "../../layers/layer.ts";
import type { Offers } from "../../layers/pipeline-state.ts";
import { nextCandidate } from "../../layers/next-candidate.ts";
import { fetchOffers } from "../../layers/server/run-offers.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import { millis } from "../../schema/brand.ts";
import type { LoopEvent, PlannedEdit } from "../../schema/loop-event.ts";
import { explainLimit } from "../../layers/reason.ts";
import { compactDue, mayCompact } from "../compact/compact-due.ts";
import { type Clearable, protectResults, pipelineState, serverWant } from "./pipeline-state.ts";
import type { Conversation } from "../conversation.ts";
import { type EditApproval, type EditApprovalDep, isAnnounced, planEdit } from "./edit-approvals.ts";
import { raceAbort } from "../../schema/race-abort.ts";
import type { CompactionDeps, ResolvedSettingsDep, ToolsDep } from "../deps.ts";
import { ConversationHost, ConversationSettleHost, type HostDeps } from "./conversation-host.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { contextReport } from "../../tokens/context-report.ts";
import { largestNamedMax } from "../limits.ts";
import { breakerState } from "../compact/breaker-state.ts";

export interface RunLayersInput {
  readonly conversation: Conversation;
  /** `turn`: this is the turn's first request. */
  readonly opens: "turn" | "nothing";
  readonly signal: AbortSignal;
}

/**
 * Lets the layers reduce the view before a request. They run before a request, never after one, so that a cold cache is
 * refilled with as little as possible. A disk failure fails no turn: the view stays as it is, with a warning.
 */
export async function* runLayers(deps: LayerRunnerDeps, input: RunLayersInput): AsyncGenerator<LoopEvent> {
  const clearable = findClearable(input);
  if (clearable !== undefined) yield* new LayerRunner(deps, { ...input, ...clearable }).run();
}

type LayerRunnerDeps = CompactionDeps & ToolsDep & EditApprovalDep;

interface LayerRunnerInput extends RunLayersInput, Clearable {}

/** Runs the best candidate, then looks for the next one, until there is nothing left to do. */
class LayerRunner {
  readonly #deps: LayerRunnerDeps;
  readonly #input: LayerRunnerInput;
  /** Names of the layers that have acted. */
  readonly #acted = new Set<string>();
  #isLimitTried = false;

  constructor(deps: LayerRunnerDeps, input: LayerRunnerInput) {
    this.#deps = deps;
    this.#input = input;
  }

  async *run(): AsyncGenerator<LoopEvent> {
    const { cache, line, signal } = this.#input;
    followView(this.#input);
    cache.approvals.forgetOutdated(line.inventory.round);
    for (;;) {
      const outcome = yield* this.#next();
      if (signal.aborted || outcome?.kind === "later") return;
      if (outcome === undefined) break;
      if (outcome.kind === "failed") yield clearFailedWarning(outcome);
    }
    // A compaction at the limit that was just tried would fail again.
    if (!this.#isLimitTried) yield* this.#compactAtLimit();
    yield* reportHeadroom(this.#input, this.#deps.settings());
  }

  /** Undefined: there is nothing left to do. */
  async *#next(): AsyncGenerator<LoopEvent, LayerOutcome | undefined> {
    const { conversation, cache, opens, signal } = this.#input;
    protectResults(this.#input);
    const settings = this.#deps.settings();
    const { layers, baseline } = conversation;
    const want = serverWant(this.#input, settings);
    const offers = await fetchOffers(this.#deps, { layers, server: cache.server, want, model: baseline.model, signal });
    if (signal.aborted) return undefined;
    yield* this.#settle(offers);
    const compacts = mayCompact(this.#deps, conversation);
    const state = pipelineState({ ...this.#input, opens, settings, offers, compacts, at: this.#deps.now() });
    cache.server.idledFor(state.idleMillis ?? millis(0));
    const candidate = nextCandidate({ layers, state, acted: this.#acted });
    if (candidate === undefined) {
      conversation.compacting?.preparation?.want(isNearThreshold(state) ? "yes" : "no");
      return undefined;
    }
    this.#acted.add(candidate.layer);
    const planned = planEdit(candidate, state);
    if (planned !== undefined && (yield* this.#approve(planned)) === "not-now") return { kind: "nothing" };
    const compact = (request: CompactRequest): LayerRun => this.#compact(request, candidate.layer);
    const outcome = yield* new ConversationHost(this.#deps, { ...this.#input, state, candidate, compact }).run();
    if (outcome.kind === "edited") cache.approvals.done(candidate.layer);
    return outcome;
  }

  /** Announces a dear edit, and asks about it if there is someone to ask. Each edit once, until it is made. */
  async *#approve(planned: PlannedEdit): AsyncGenerator<LoopEvent, EditApproval> {
    const { cache, line, signal } = this.#input;
    const { round } = line.inventory;
    const known = cache.approvals.find(planned.trigger, round);
    if (known !== undefined) return known;
    if (isAnnounced(planned)) yield { kind: "edit-planned", ...planned };
    const { approveEdit } = this.#deps;
    const answer = approveEdit === undefined ? Promise.resolve("yes" as const) : approveEdit(planned, signal);
    const approval = await raceAbort(answer, { signal, instead: () => "not-now" as const });
    if (!signal.aborted) cache.approvals.decide(planned.trigger, { approval, round });
    return approval;
  }

  /** Settling changes neither the messages nor their cache, so the cache model need not follow. */
  async *#settle(offers: Offers | undefined): AsyncGenerator<LoopEvent> {
    const host = new ConversationSettleHost(this.#input, { offers, at: this.#deps.now() });
    for (const layer of this.#input.conversation.layers) if (layer.settle !== undefined) yield* layer.settle(host);
    if (host.hasEdited) protectResults(this.#input);
  }

  async *#compact(request: CompactRequest, layer?: string): LayerRun {
    const { conversation, cache, signal } = this.#input;
    this.#isLimitTried ||= request.cause === "limit";
    const outcome = yield* compactDue(this.#deps, { conversation, ask: request, signal });
    followView(this.#input);
    // After a failure the user's answer still holds: the same compaction is tried again without a question.
    if (outcome === "compacted" && layer !== undefined) cache.approvals.done(layer);
    return { kind: outcome === "later" ? "later" : "compacted" };
  }

  /** Compacts if the request still does not fit, if need be without a model, so that the session never gets stuck here. */
  async *#compactAtLimit(): AsyncGenerator<LoopEvent> {
    const { thresholds, switches, policy } = this.#deps.settings();
    const used = this.#input.conversation.line.usedTokens;
    if (used < thresholds.blocking || !switches["compact.auto"].value || policy.compact === undefined) return;
    yield* this.#compact({ cause: "limit", because: explainLimit(used, thresholds.blocking) });
  }
}

interface ClearRequest {
  readonly conversation: Conversation;
  /** The most tokens that the remaining results may have. */
  readonly downToTokens: number;
}

/** Clears at the user's request, between turns. Undefined if nothing can be cleared. The caller reports a write failure. */
export async function* clearOnRequest(
  deps: HostDeps & ClockDep & ResolvedSettingsDep,
  { conversation, downToTokens }: ClearRequest,
): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
  const clearable = findClearable({ conversation });
  if (clearable === undefined) return undefined;
  followView(clearable);
  protectResults(clearable);
  const now = { opens: "nothing", settings: deps.settings(), offers: undefined, at: deps.now() } as const;
  const state = pipelineState({ ...clearable, ...now });
  const candidate = clearDownTo(state, downToTokens);
  if (candidate === undefined) return undefined;
  const outcome = yield* new ConversationHost(deps, { ...clearable, state, candidate }).run();
  if (outcome.kind === "edited") return outcome.event;
  return outcome.kind === "failed" ? outcome : undefined;
}

/** Undefined for a fork, whose view is never changed. */
function findClearable({ conversation }: Pick<RunLayersInput, "conversation">): Clearable | undefined {
  const { cache } = conversation;
  const line = conversation.line.editable;
  return line === undefined || cache === undefined ? undefined : { conversation, line, cache };
}

/** The view may have been rebuilt. */
const followView = ({ cache, line: { inventory, fold }, conversation: { written } }: Clearable): void =>
  cache.follow({ inventory, fold, written });

const clearFailedWarning = ({ message }: WriteFailure): LoopEvent => ({
  kind: "warning",
  code: "clear-failed",
  message: `Nothing was cleared: ${message}`,
});

/** Warns if the context is over the limit with nothing left to clear: once, until it is below the limit again. */
function* reportHeadroom({ conversation, line, cache }: Clearable, settings: ResolvedSettings): Generator<LoopEvent> {
  const { thresholds, autoCompact } = settings;
  const used = conversation.line.usedTokens;
  const { limit } = thresholds;
  if (used < limit) {
    cache.noteHeadroom();
    return;
  }
  if (cache.noteNoHeadroom() === "known") return;
  const { fold, ledger } = line;
  const { categories, largest } = contextReport({
    fold,
    ledger,
    thresholds,
    autoCompact,
    largestMax: largestNamedMax,
  });
  const named = [
    ...categories.map(({ name, tokens }) => ({ what: name, tokens })),
    ...largest.map(({ what, entry, tokens }) => ({ what: `${what} (${entry})`, tokens })),
  ].toSorted((one, other) => other.tokens - one.tokens);
  const because = whyNotCompacted({ conversation, line, cache }, settings);
  const figures = { tokens: used, limit, largest: named.slice(0, largestNamedMax) };
  yield { kind: "no-headroom", ...figures, ...(because === undefined ? {} : { because }) };
}

/** Undefined if automatic compaction is off: then there is nothing to explain. */
function whyNotCompacted(
  { conversation, line }: Clearable,
  { policy, autoCompact }: ResolvedSettings,
): string | undefined {
  if (conversation.compacting === undefined || policy.compact === undefined || autoCompact === "off") return undefined;
  const breaker = breakerState(line.fold, policy);
  return breaker.kind === "may-ask"
    ? "A summary would leave too little room below the threshold; at the hard limit one is made all the same."
    : breaker.message;
}
