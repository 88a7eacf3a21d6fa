import { parseCoverage } from "../../layers/3-notes/notes-coverage.ts";
import type { EntryId } from "../../schema/brand.ts";
import { outdatesSummary } from "../../schema/edit-kinds.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { estimateItems } from "../../tokens/estimate-block.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { ConversationContext } from "../conversation.ts";
import type { FinalAppender, Session } from "../../session/session.ts";
import { toBreakOffFailure, recordFailure, countsForBreaker } from "./record-failure.ts";
import type { PreparedSummary, BackgroundSummary } from "./compaction-setup.ts";
import { preparationRestRounds, preparationTailShareMax } from "./limits.ts";
import type { Proposal, ProposeOutcome } from "./proposal.ts";
import { proposeCompaction } from "./propose-compaction.ts";
import { bookCalls } from "../past-costs.ts";
import { breakerState } from "./breaker-state.ts";

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
 * Makes a summary in the background before it is due, so that the user does not wait for it. It starts when a round has
 * ended: then the whole prefix is in the cache and does not change.
 *
 *   none ──a round ends, and one is wanted──▶ preparing ──a summary──▶ ready ──due──▶ none: swapped in
 *   preparing ──fails──▶ none: counts for the breaker, or rests for a few rounds
 *   preparing, ready ──the summarised part changes──▶ none      ready ──too much follows it──▶ none
 *
 * Only the cost of an unused summary is in the log. Ends with the session.
 */
export class SummaryPreparation implements BackgroundSummary {
  readonly #context: ConversationContext;
  readonly #session: Session;
  /** The session or, while it closes, its final appender. */
  #log: FinalAppender;
  #state: PreparationState = { kind: "none" };
  #isWanted = false;
  #restRounds = 0;
  #news: LoopEvent[] = [];
  /** Dropped preparations that have not ended yet. */
  readonly #ending = new Set<Promise<void>>();

  /** The context's conversation refers to this object and may be created later. */
  constructor(context: ConversationContext, session: Session) {
    this.#context = context;
    this.#session = session;
    this.#log = session;
    session.onClose((closing) => {
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
    this.#restRounds = Math.max(0, this.#restRounds - 1);
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
    if (this.#restRounds > 0) return false;
    return breakerState(this.#session.fold, this.#context.deps.settings().policy).kind === "may-ask";
  }

  #begin(): void {
    const { deps, conversation } = this.#context;
    const { compacting } = conversation;
    if (compacting === undefined) return;
    const abort = new AbortController();
    this.#news.push({ kind: "preparation", state: "preparing" });
    const proposing = proposeCompaction(deps, {
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
    const proposed = await this.#drain(proposing).catch(toBreakOffFailure);
    if (signal.aborted) {
      if (proposed.kind === "proposed") await this.#book(proposed.proposal);
      return;
    }
    if (proposed.kind === "proposed") {
      this.#state = { kind: "ready", proposal: proposed.proposal, noted: this.#coveredByNotes() };
      this.#news.push({ kind: "preparation", state: "ready" });
      return;
    }
    this.#state = { kind: "none" };
    // A failure that the breaker does not count would be retried after every round.
    if (!countsForBreaker(proposed.reason)) this.#restRounds = preparationRestRounds;
    const failure = { session: this.#session, log: this.#log, problem: proposed };
    // A log that can't be written counts no failures: a new session starts at zero.
    const event = await recordFailure(this.#context.deps, failure).catch(() => undefined);
    if (event !== undefined) this.#news.push(event);
  }

  /** Keeps only warnings: progress does not matter in the background. */
  async #drain(proposing: AsyncGenerator<LoopEvent, ProposeOutcome>): Promise<ProposeOutcome> {
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
    return proposal.path === "notes" && this.#state.noted !== this.#coveredByNotes() ? renotedText : undefined;
  }

  #isChanged(): boolean {
    const { fold } = this.#session;
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
  #coveredByNotes(): EntryId | undefined {
    return parseCoverage(this.#session.fold.projection.settings)?.entry;
  }

  /** Later messages stay: if there are many, a summary of the earlier ones makes little room. */
  #isOutgrown({ leaf }: Proposal): boolean {
    const { path, projection } = this.#session.fold;
    const leafAt = path.findLastIndex(({ entry }) => entry.id === leaf);
    const tailTokens = estimateItems(projection.items.filter(({ at }) => at > leafAt));
    return tailTokens > preparationTailShareMax * this.#context.deps.settings().thresholds.compact;
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

const changedText = "The summarised part has changed meanwhile.";
const outgrownText = "Too many messages have come since it was made.";
const renotedText = "Newer notes were taken.";

/**
 * Has the path up to this entry changed since it was summarised, by another branch, a boundary, an undo, or by hidden or
 * collapsed entries? Clearing results does not count: the summary was made from them as they were.
 */
export function isChangedSince({ path }: Pick<Fold, "path">, leaf: EntryId | null): boolean {
  const at = path.findLastIndex(({ entry }) => entry.id === leaf);
  return at === -1 || path.loggedFrom(at + 1).some(({ entry }) => entry.kind === "edit" && outdatesSummary(entry.edit));
}
