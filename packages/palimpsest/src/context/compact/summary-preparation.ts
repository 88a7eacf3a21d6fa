import { parseCoverage } from "../../layers/3-notes/notes-coverage.ts";
import type { EntryId } from "../../schema/brand.ts";
import { outdatesSummary } from "../../schema/edit-kinds.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { estimateItems } from "../../tokens/estimate-block.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps } from "../deps.ts";
import type { FinalAppender, Session } from "../../session/session.ts";
import { toBreakOffFailure, recordFailure, countsForBreaker } from "./record-failure.ts";
import type { PreparedSummary, BackgroundSummary } from "./compaction-setup.ts";
import { preparationRestRounds, preparationTailShareMax } from "./limits.ts";
import type { Proposal, ProposeOutcome } from "./proposal.ts";
import { proposeCompaction } from "./propose-compaction.ts";
import { bookCalls } from "../past-costs.ts";
import { breakerState } from "./breaker-state.ts";

interface PreparationInput {
  readonly session: Session;
  /** It holds this, so it comes later. */
  readonly conversation: () => Conversation;
}

type PreparationState =
  | { readonly kind: "none" }
  | {
      readonly kind: "preparing";
      readonly leaf: EntryId | null;
      readonly abort: AbortController;
      readonly over: Promise<void>;
    }
  | { readonly kind: "ready"; readonly proposal: Proposal; readonly noted: EntryId | undefined };

/**
 * A summary that is made beside the conversation before it is due, so that nobody waits for it. It begins where a round
 * has ended: all of the prefix is in the cache then, and nobody changes it.
 *
 *   none ──a round ends, and one is wanted──▶ preparing ──a summary──▶ ready ──due──▶ none: swapped in
 *   preparing ──fails──▶ none: counts for the breaker, or rests for a few rounds
 *   preparing, ready ──what it stands for was changed──▶ none      ready ──too much came behind it──▶ none
 *
 * Nothing of it is in the log but what it cost, where it is not used. Ends with the session.
 */
export class SummaryPreparation implements BackgroundSummary {
  readonly #deps: CompactionDeps;
  readonly #of: PreparationInput;
  /** The session, or by what it takes its last entries. */
  #log: FinalAppender;
  #state: PreparationState = { kind: "none" };
  #isWanted = false;
  #restsRounds = 0;
  #news: LoopEvent[] = [];
  /** Dropped, and not over yet. */
  readonly #ending = new Set<Promise<void>>();

  constructor(deps: CompactionDeps, of: PreparationInput) {
    this.#deps = deps;
    this.#of = of;
    this.#log = of.session;
    of.session.onClose((closing) => {
      this.#log = closing;
      return this.cancel();
    });
  }

  get state(): PreparationState["kind"] {
    return this.#state.kind;
  }

  want(wanted: "yes" | "no"): void {
    this.#isWanted = wanted === "yes";
  }

  roundEnded(): void {
    this.#restsRounds = Math.max(0, this.#restsRounds - 1);
    const why = this.#whyDropped();
    if (why !== undefined) this.#drop(why);
    if (this.#state.kind === "none" && this.#isWanted && this.#mayBegin()) this.#begin();
  }

  take(): PreparedSummary {
    if (this.#isChanged()) this.#drop(changedText);
    const state = this.#state;
    if (state.kind === "preparing") return { kind: "preparing" };
    if (state.kind === "none") return state;
    this.#state = { kind: "none" };
    return { kind: "ready", proposal: state.proposal };
  }

  async cancel(): Promise<void> {
    this.#drop(undefined);
    await Promise.all(this.#ending);
  }

  news(): readonly LoopEvent[] {
    return this.#news.splice(0);
  }

  #mayBegin(): boolean {
    if (this.#restsRounds > 0) return false;
    return breakerState(this.#of.session.fold, this.#deps.numbers().policy).kind === "may-ask";
  }

  #begin(): void {
    const conversation = this.#of.conversation();
    const { compacting } = conversation;
    if (compacting === undefined) return;
    const abort = new AbortController();
    this.#news.push({ kind: "preparation", state: "preparing" });
    const proposing = proposeCompaction(this.#deps, {
      conversation,
      compacting,
      ask: { trigger: "auto", cause: "threshold", part: { kind: "all" }, made: "ahead" },
      signal: abort.signal,
      log: { append: (...drafts) => this.#log.append(...drafts) },
    });
    const { leaf } = conversation.line;
    this.#state = { kind: "preparing", leaf, abort, over: this.#follow(proposing, abort.signal) };
  }

  /** Must not reject. */
  async #follow(proposing: AsyncGenerator<LoopEvent, ProposeOutcome>, signal: AbortSignal): Promise<void> {
    const proposed = await this.#drained(proposing).catch(toBreakOffFailure);
    if (signal.aborted) {
      if (proposed.kind === "proposed") await this.#book(proposed.proposal);
      return;
    }
    if (proposed.kind === "proposed") {
      this.#state = { kind: "ready", proposal: proposed.proposal, noted: this.#noted() };
      this.#news.push({ kind: "preparation", state: "ready" });
      return;
    }
    this.#state = { kind: "none" };
    // What the breaker does not count would be tried for ever.
    if (!countsForBreaker(proposed.reason)) this.#restsRounds = preparationRestRounds;
    const failing = { session: this.#of.session, log: this.#log, problem: proposed };
    // A log that takes no more entries counts nothing: the next session begins anew.
    const told = await recordFailure(this.#deps, failing).catch(() => undefined);
    if (told !== undefined) this.#news.push(told);
  }

  /** How far it has come says nothing to those who don't wait for it. */
  async #drained(proposing: AsyncGenerator<LoopEvent, ProposeOutcome>): Promise<ProposeOutcome> {
    let step = await proposing.next();
    while (step.done !== true) {
      if (step.value.kind === "warning") this.#news.push(step.value);
      step = await proposing.next();
    }
    return step.value;
  }

  #whyDropped(): string | undefined {
    if (this.#state.kind === "none") return undefined;
    if (this.#isChanged()) return changedText;
    if (this.#state.kind === "preparing") return undefined;
    const { proposal } = this.#state;
    if (this.#isOutgrown(proposal)) return outgrownText;
    return proposal.path === "notes" && this.#state.noted !== this.#noted() ? renotedText : undefined;
  }

  #isChanged(): boolean {
    const { fold } = this.#of.session;
    switch (this.#state.kind) {
      case "none":
        return false;
      case "preparing":
        return isChangedSince(fold, this.#state.leaf);
      case "ready":
        return isChangedSince(fold, this.#state.proposal.leaf);
    }
  }

  /** The newest entry that notes cover. */
  #noted(): EntryId | undefined {
    return parseCoverage(this.#of.session.fold.projection.settings)?.entry;
  }

  /** What came later stays: where that is much, a summary of what was before it makes little room. */
  #isOutgrown({ leaf }: Proposal): boolean {
    const { path, projection } = this.#of.session.fold;
    const leafAt = path.findLastIndex(({ entry }) => entry.id === leaf);
    const tailTokens = estimateItems(projection.items.filter(({ at }) => at > leafAt));
    return tailTokens > preparationTailShareMax * this.#deps.numbers().thresholds.compact;
  }

  #drop(because: string | undefined): void {
    const state = this.#state;
    this.#state = { kind: "none" };
    if (state.kind === "none") return;
    this.#news.push({ kind: "preparation", state: "dropped", ...(because === undefined ? {} : { because }) });
    if (state.kind === "preparing") state.abort.abort();
    const over = (state.kind === "ready" ? this.#book(state.proposal) : state.over).finally(() =>
      this.#ending.delete(over),
    );
    this.#ending.add(over);
  }

  #book({ calls }: Proposal): Promise<void> {
    return bookCalls(this.#log, { calls, trigger: "auto" });
  }
}

const changedText = "What it stands for was changed meanwhile.";
const outgrownText = "Too much was said since it was made.";
const renotedText = "Newer notes were taken.";

/**
 * Whether the path up to this entry is no longer what a summary of it was made of: another branch, a boundary, something
 * undone, hidden or collapsed. Results that were only cleared are in the summary as they were: it still stands for them.
 */
export function isChangedSince({ path }: Pick<Fold, "path">, leaf: EntryId | null): boolean {
  const at = path.findLastIndex(({ entry }) => entry.id === leaf);
  return at === -1 || path.loggedFrom(at + 1).some(({ entry }) => entry.kind === "edit" && outdatesSummary(entry.edit));
}
