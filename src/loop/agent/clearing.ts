import { scaleOf } from "../../cache/clear-price.ts";
import { clearDownTo } from "../../layers/2-clear/by-size.ts";
import { clearDraft } from "../../layers/2-clear/run.ts";
import { isNear } from "../../layers/4-compact/due.ts";
import type { Act, Candidate, LayerName } from "../../layers/candidate.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import { layers } from "../../layers/layers.ts";
import { nextCandidate, type PipelineState } from "../../layers/pipeline.ts";
import { type EntryId, tokens, type ToolUseId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { fileActOf } from "../../tokens/file-act.ts";
import type { Draft } from "../../transcript/draft.ts";
import { compactDue, mayCompact } from "../compact/automatic.ts";
import { thinkingIdleMillis, thinkingLossShare } from "../limits.ts";
import type { Edited, EditInput } from "../session.ts";
import { type Clearable, keepAsked, pipelineState, ratesFor } from "./clearing-state.ts";
import type { Conversation } from "./conversation.ts";
import type { AgentDeps } from "./deps.ts";
import { clearUndeleted, forgetLost, forgetUnasked, resultContents } from "./deleted-results.ts";
import { headroom } from "./headroom.ts";
import { memoriesBetween } from "./memories-between.ts";
import { nothingOffered, offersOf } from "./offers.ts";
import { shownBefore, shownFrom } from "./shown-before.ts";
import { forgetReads, shownResults } from "./shown-reads.ts";
import { thinkingBehind } from "./thinking-behind.ts";
import { figure } from "../../schema/figure.ts";

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
export async function* clearBefore(
  deps: AgentDeps,
  { conversation, opens, signal }: ClearBefore,
): AsyncGenerator<LoopEvent> {
  const { cache } = conversation;
  const line = conversation.line.editable;
  if (line === undefined || cache === undefined) return;
  const clearable: Clearable = { conversation, line, cache };
  follow(clearable);
  yield* forgetLost(clearable);
  const acted = new Set<LayerName>();
  let isLimitTried = false;
  for (;;) {
    keepAsked(clearable);
    const numbers = deps.numbers();
    const known = await offersOf(deps, { ...clearable, numbers, signal });
    if (signal.aborted) return;
    if (known === undefined) {
      // The messages stay as they were, and so does what the cache holds of them: there is nothing to follow.
      yield* forgetUnasked(clearable, deps.now());
      keepAsked(clearable);
    }
    const offers = known ?? nothingOffered;
    const compacts = mayCompact(deps, conversation);
    const state = pipelineState({ ...clearable, opens, numbers, offers, compacts, at: deps.now() });
    if ((state.idleMillis ?? 0) > thinkingIdleMillis) cache.thinkingKept = "last";
    const again = acted.has("clear.cacheEdits") ? undefined : clearUndeleted(cache, state);
    const candidate = again ?? nextCandidate({ layers, state, acted });
    if (candidate === undefined) {
      conversation.compacting?.preparation?.want(isNear(state) ? "yes" : "no");
      break;
    }
    acted.add(candidate.layer);
    if (isFutile(candidate, state)) continue;
    if (candidate.act.kind === "compact") {
      const ask = { cause: candidate.act.trigger, because: candidate.because };
      isLimitTried ||= ask.cause === "limit";
      const made = yield* compactDue(deps, { conversation, ask, signal });
      if (signal.aborted) return;
      follow(clearable);
      // Whatever else were done would be done for nothing; and there is room until then.
      if (made === "later") return;
    } else {
      const done = yield* new Clearing(deps, { ...clearable, state, candidate }).run();
      if (done?.kind === "failed") yield unclearedWarning(done);
    }
  }
  // What has just been tried in every way comes out the same again.
  if (!isLimitTried) yield* lastRung(deps, { ...clearable, signal });
  yield* headroom(clearable, deps.numbers());
}

export type ClearedEvent = Extract<LoopEvent, { kind: "cleared" }>;

export interface ClearAsk {
  readonly conversation: Conversation;
  /** Of the results that stay. */
  readonly downToTokens: number;
}

/** By hand, between turns. Undefined: no more than that may be cleared. The caller tells the user of a disk that refused. */
export async function* clearAsked(
  deps: AgentDeps,
  { conversation, downToTokens }: ClearAsk,
): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
  const { cache } = conversation;
  const line = conversation.line.editable;
  if (line === undefined || cache === undefined) return undefined;
  const clearable: Clearable = { conversation, line, cache };
  follow(clearable);
  keepAsked(clearable);
  const state = pipelineState({
    ...clearable,
    opens: "nothing",
    numbers: deps.numbers(),
    offers: new Set(),
    at: deps.now(),
  });
  const candidate = clearDownTo(state, downToTokens);
  return candidate && (yield* new Clearing(deps, { ...clearable, state, candidate }).run());
}

/** The view may have been told anew. */
const follow = ({ cache, line: { inventory, fold }, conversation: { written } }: Clearable): void =>
  cache.follow({ inventory, fold, written });

/** Where nothing fits any more, whatever the layers did: then also without a model, so that the session never ends here. */
async function* lastRung(
  deps: AgentDeps,
  clearable: Clearable & Pick<ClearBefore, "signal">,
): AsyncGenerator<LoopEvent> {
  const { conversation, signal } = clearable;
  const { thresholds, switches, policy } = deps.numbers();
  const used = conversation.line.usedTokens;
  if (used < thresholds.blocking || !switches["compact.auto"].value || policy.compact === undefined) return;
  const because = `${figure(used)} tokens ≥ ${figure(thresholds.blocking)}, over which no request can be sent`;
  yield* compactDue(deps, { conversation, ask: { cause: "limit", because }, signal });
  follow(clearable);
}

/** What has to go and still leaves no room is cleared only where otherwise nothing could be sent: else every request would. */
const isFutile = ({ act, removesTokens }: Candidate, { moment, thresholds }: PipelineState): boolean =>
  act.kind === "clear" &&
  act.priced?.why === "forced" &&
  moment.contextTokens - removesTokens >= thresholds.compact &&
  moment.contextTokens < thresholds.blocking;

type ClearAct = Extract<Act, { kind: "clear" }>;

interface Chosen extends Clearable {
  readonly state: PipelineState;
  readonly candidate: Candidate;
}

class Clearing {
  readonly #deps: AgentDeps;
  readonly #chosen: Chosen;

  constructor(deps: AgentDeps, chosen: Chosen) {
    this.#deps = deps;
    this.#chosen = chosen;
  }

  /** Undefined: it does not pay after all. */
  async *run(): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
    const { act, because } = this.#chosen.candidate;
    switch (act.kind) {
      case "clear":
        return yield* this.#clear(act);
      case "snip": {
        const { entries } = act;
        return yield* this.#edit({ what: "snip", count: entries.length, draft: { type: "snip", entries, because } });
      }
      case "collapse": {
        const { from, to, shown } = act;
        const draft = { type: "collapse", span: { from, to }, shown, because };
        return yield* this.#edit({ what: "collapse", count: 1, draft });
      }
      case "delete-in-cache": {
        const draft = { type: "server-edits", deleted: act.results, because };
        return yield* this.#edit({ what: "delete-in-cache", count: act.results.length, draft });
      }
      case "compact":
        throw new Error("a compaction is no clearing");
    }
  }

  async *#clear(act: ClearAct): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure | undefined> {
    const { conversation, line, candidate, state } = this.#chosen;
    const { items } = line.fold.projection;
    const results = resultContents(items, new Set(act.results));
    const cleared = new Set(results.map(({ toolUse }) => toolUse));
    const thinking = conversation.known?.thinking === "bound" ? thinkingBehind(items, cleared) : undefined;
    if (cleared.size === 0 || !this.#paysForThinking(act, thinking?.tokens ?? 0)) return undefined;
    const { pins } = line.fold.projection;
    const attachments = memoriesBetween(items, { cleared, from: this.#memoriesFrom(), pins });
    const { draft, unsaved } = await clearDraft(this.#deps, {
      session: conversation.session,
      results,
      marker: act.marker,
      readingTool: this.#deps.tools.find(({ name }) => fileActOf(name) === "read")?.name,
      cause: act.cause,
      because: candidate.because,
      attachments,
      tokensBefore: state.moment.contextTokens,
      tokensSaved: candidate.removesTokens,
      price: priceOf(act, thinking?.tokens),
      dropsThinking: thinking?.drops,
    });
    if (unsaved.length > 0) yield unsavedWarning(unsaved);
    const cut = this.#cutAt({ cleared, attachments });
    return yield* this.#edit({ what: "clear", count: cleared.size, draft, cut });
  }

  /** Thinking that no request can carry any more was paid for, and part of it is worth its price. */
  #paysForThinking({ priced }: ClearAct, lostTokens: number): boolean {
    if (priced === undefined || priced.why === "forced" || lostTokens === 0) return true;
    const { rates } = this.#chosen.state.moment;
    const rule = this.#chosen.state.policy.clear.byPrice;
    const lossCost = rates.output * lostTokens * scaleOf(this.#chosen.state) * thinkingLossShare;
    if (priced.why === "warm") return priced.rentCost > priced.neededRent + (rule?.patience ?? 1) * lossCost;
    const gain = rates.write * priced.removesTokens + priced.savedPerRound * (rule?.horizonRounds ?? 0);
    return gain > priced.riskCost + lossCost;
  }

  /** What lies behind everything that still lives is written again in any case, also where a shorter prefix is warm. */
  #cache(): "warm" | "cold" {
    const { cache, state, candidate } = this.#chosen;
    if (candidate.act.kind === "clear" && candidate.act.priced?.why === "cold") return "cold";
    return cache.prefixes.isCold(state.moment.at) ? "cold" : "warm";
  }

  /** On a cold cache they go wherever that has nothing written again that lives, on a warm one behind the oldest result. */
  #memoriesFrom(): EntryId | "oldest-result" {
    if (this.#cache() === "warm") return "oldest-result";
    const { line, cache, state } = this.#chosen;
    return shownFrom(line.fold.shown(), cache.prefixes.upTo(Infinity, state.moment.at)) ?? "oldest-result";
  }

  /** Where the first thing stands that goes; 0 where nobody knows. */
  #cutAt({ cleared, attachments }: Going): number {
    const { inventory, fold } = this.#chosen.line;
    const residents = [...cleared].flatMap((toolUse) => inventory.find(toolUse) ?? []);
    if (residents.length < cleared.size) return 0;
    const [first] = attachments;
    const memory = first === undefined ? Infinity : shownBefore(fold.shown(), first);
    return Math.min(memory, ...residents.map((one) => inventory.offsetOf(one)));
  }

  async *#edit({ what, draft, count, cut = 0 }: Editing): AsyncGenerator<LoopEvent, ClearedEvent | WriteFailure> {
    const { conversation, line, cache, candidate, state } = this.#chosen;
    const { because, removesTokens } = candidate;
    const shown = shownResults(line.fold);
    const edited = await this.#write({ draft, cut, nature: what === "collapse" ? "summarised" : "reduced" });
    if (edited.kind === "failed") return edited;
    if (what === "delete-in-cache") {
      conversation.breaks.expect("cache-edits");
    } else {
      cache.cut({ offset: cut, savedTokens: what === "clear" ? removesTokens : 0, round: line.inventory.round });
      conversation.breaks.expect("clear");
    }
    forgetReads(conversation.files, shown.difference(shownResults(line.fold)));
    const before = state.moment.contextTokens;
    const after = tokens(Math.min(before, conversation.line.usedTokens));
    const event: ClearedEvent = {
      kind: "cleared",
      what,
      count,
      tokensBefore: tokens(before),
      tokensAfter: after,
      tokensSaved: tokens(before - after),
      trigger: candidate.layer,
      because,
      entries: edited.entries,
      price: edited.receipt.price,
    };
    yield event;
    return event;
  }

  #write({ draft, cut, nature }: Writing): Promise<Edited> {
    const { line, cache, candidate, state } = this.#chosen;
    const { act, because, removesTokens, behindTokens, layer } = candidate;
    // Rules that know no prices do not ask how far before the cut the cache still reaches.
    const between =
      act.kind === "clear" && act.priced === undefined ? cut - cache.prefixes.upTo(cut, state.moment.at) : 0;
    const warmth = this.#cache();
    const planned = {
      removesTokens,
      behindTokens: warmth === "cold" ? 0 : behindTokens + between * scaleOf(state),
      cache: warmth,
    };
    const cause = act.kind === "clear" && act.cause === "asked" ? act.cause : layer;
    return line.edit({ drafts: [draft], cause, nature, because, planned, rates: ratesFor(this.#chosen) });
  }
}

interface Editing {
  readonly what: ClearedEvent["what"];
  readonly draft: Draft;
  readonly count: number;
  /** How much of what is shown stands before the first change, by the inventory's count. */
  readonly cut?: number;
}

interface Going {
  readonly cleared: ReadonlySet<ToolUseId>;
  /** In the order of the view. */
  readonly attachments: readonly EntryId[];
}

interface Writing extends Required<Pick<Editing, "draft" | "cut">>, Pick<EditInput, "nature"> {}

/** Without the results: the edit names them itself. */
function priceOf({ priced }: ClearAct, thinkingTokens: number | undefined): object | undefined {
  if (priced === undefined) return undefined;
  const { results: _, why, ...figures } = priced;
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value)] as const);
  return { why, ...Object.fromEntries(rounded), ...(thinkingTokens === undefined ? {} : { thinkingTokens }) };
}

const unclearedWarning = ({ message }: WriteFailure): LoopEvent => ({
  kind: "warning",
  code: "clear-failed",
  message: `Nothing was cleared: ${message}`,
});

const unsavedWarning = (unsaved: readonly ToolUseId[]): LoopEvent => ({
  kind: "warning",
  code: "clear-unsaved",
  message: `${unsaved.length === 1 ? "A cleared result" : `${unsaved.length} cleared results`} could not be saved to a file; the transcript still holds it all: palimpsest expand`,
});
