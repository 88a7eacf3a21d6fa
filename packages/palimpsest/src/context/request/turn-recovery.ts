import { ratesForModel } from "../../cache/cache-rates.ts";
import type { Policy } from "../../layers/policy.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ModelFailure } from "../../ports/model-port.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { LeftOutPart } from "../../schema/edit.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { compactDue, type CompactDueInput } from "../compact/compact-due.ts";
import type { CompactionDeps, RoundsDeps } from "../deps.ts";
import { followUndo } from "../conversation.ts";
import { type Rung, refusalLadder } from "./refusal-ladder.ts";
import type { UnansweredTurn } from "../unanswered-turn.ts";

/** A reply that did not come to its own end. */
export interface CutReply extends UnansweredTurn {
  /** Of the request that it answered. */
  readonly requestTokens: number;
}

/** What becomes of a refused request. `stuck`: it can't be sent with less; `tried`: what else was refused, in order. */
export type RefusalOutcome =
  | { readonly kind: "plainer" }
  | { readonly kind: "stuck"; readonly tried: readonly Rung[] }
  | WriteFailure;

/** `passed`: the rung would change nothing. */
type RungOutcome = { readonly kind: "plainer" } | { readonly kind: "passed" } | WriteFailure;

type TurnRecoveryDeps = CompactionDeps & Pick<RoundsDeps, "learn">;

/**
 * What a turn does for room besides the layers, which look before each request: it compacts where one turned out to be too
 * long, or the agent asked for it, and sends less where the provider refused one.
 */
export class TurnRecovery {
  readonly #deps: TurnRecoveryDeps;
  readonly #by: Omit<CompactDueInput, "ask">;
  /** Why it was compacted since the last reply that came to its end: once for each reason, then the failure is told. */
  readonly #compacted = new Set<CompactDueInput["ask"]["cause"]>();
  /** Edits since the last reply by which refused requests were sent with less. Where none helps, they are taken back. */
  #attempts: EntryId[] = [];
  /** Rungs since the last reply by which the request became plainer or shorter. */
  #tried: Rung[] = [];

  constructor(deps: TurnRecoveryDeps, { conversation, signal }: Omit<CompactDueInput, "ask">) {
    this.#deps = deps;
    this.#by = { conversation, signal };
  }

  /** A reply came to its own end: there was room for it. */
  replied(): void {
    this.#compacted.clear();
    this.#attempts = [];
    this.#tried = [];
  }

  /** The agent's own wish, now that every call has its answer. */
  async *compactIfAsked(): AsyncGenerator<LoopEvent> {
    const wish = this.#by.conversation.compacting?.asks?.take();
    if (wish === undefined) return;
    yield* this.#compact({ cause: "agent", note: wish.note, because: "the agent asked for it" });
  }

  /**
   * Walks the ladder to the next rung that makes the request plainer or shorter. What a refusal says of the window counts at
   * once. Only a refusal at the end of the ladder shows that nothing on it has helped: behind any other failure, and behind
   * an abort, what was left out stays so, for it may be what the provider takes.
   */
  async *refused(failure: ModelFailure): AsyncGenerator<LoopEvent, RefusalOutcome> {
    const { limitTokens, limitOf = "window", message } = failure;
    const { model } = this.#by.conversation.baseline;
    const { window: before } = this.#deps.numbers();
    if (limitTokens !== undefined) await this.#deps.learn({ model, limitTokens, limitOf, from: message });
    if (this.#fitsSmallerWindow(before.tokens)) return { kind: "plainer" };
    const rungs = refusalLadder(failure);
    if (rungs.length === 0) return { kind: "stuck", tried: [] };
    for (const rung of rungs) {
      const climbed = yield* this.#climb(rung, failure);
      if (climbed.kind === "plainer") this.#tried.push(rung);
      if (climbed.kind !== "passed") return climbed;
      if (this.#by.signal.aborted) return { kind: "stuck", tried: this.#tried };
    }
    yield* this.#takeBack();
    return { kind: "stuck", tried: this.#tried };
  }

  /** The window turned out to be smaller, and what is sent has room in it: only the reply was given too much of it. */
  #fitsSmallerWindow(beforeTokens: number): boolean {
    const { window, thresholds } = this.#deps.numbers();
    return window.tokens < beforeTokens && this.#by.conversation.line.usedTokens < thresholds.compact;
  }

  /** A reply that broke off over the threshold, or where the provider's window ends, had too little room: the work goes on behind a summary, also one without a model. */
  async *cut({ reason, message, requestTokens }: CutReply): AsyncGenerator<LoopEvent, RoomOutcome> {
    if (reason === "over-limit") return yield* this.#once({ cause: "overflow", because: message });
    const { thresholds, autoCompact } = this.#deps.numbers();
    if (reason === "refused" || autoCompact === "off" || requestTokens < thresholds.compact) return "failed";
    return yield* this.#compact({ cause: "limit", because: message });
  }

  async *#climb(rung: Rung, { why, message: because }: ModelFailure): AsyncGenerator<LoopEvent, RungOutcome> {
    if (rung !== "shorter" && rung !== "everything") return yield* this.#leaveOut(rung, because);
    if (rung === "everything" && !this.#mayExtract(why)) return { kind: "passed" };
    const made = yield* this.#once({ cause: rung === "shorter" ? "overflow" : "refused", because });
    return { kind: made === "compacted" ? "plainer" : "passed" };
  }

  async *#leaveOut(part: LeftOutPart, because: string): AsyncGenerator<LoopEvent, RungOutcome> {
    const { conversation } = this.#by;
    const { line, known, cache, breaks } = conversation;
    const tokensBefore = line.usedTokens;
    const left = await line.leaveOut(part, { because, rates: ratesForModel(known, cache?.lifetime ?? "5m") });
    if (left.kind === "nothing") return { kind: "passed" };
    if (left.kind === "failed") return left;
    const { count, edits, receipt } = left;
    this.#attempts.push(...edits);
    breaks.expect("clear");
    const priced = receipt === undefined ? {} : { price: receipt.price };
    const sizes = { tokensBefore, tokensAfter: line.usedTokens };
    yield { kind: "left-out", part, count, ...sizes, because, entries: edits, ...priced };
    return { kind: "plainer" };
  }

  async *#once(ask: Pick<CompactDueInput["ask"], "cause" | "because">): AsyncGenerator<LoopEvent, RoomOutcome> {
    const { switches, policy } = this.#deps.numbers();
    const mayReact = switches["compact.reactive"].value && reactsOnce(policy);
    const isTried = this.#compacted.has(ask.cause);
    this.#compacted.add(ask.cause);
    if (isTried || (ask.cause !== "refused" && !mayReact)) return "failed";
    return yield* this.#compact(ask);
  }

  /**
   * What a policy does about a request that is too long is its own affair. None of them knows what to do about one that is
   * refused for what it holds: there only a user's own switch counts.
   */
  #mayExtract(why: ModelFailure["why"]): boolean {
    const { switches, policy } = this.#deps.numbers();
    const { value: isOn, source } = switches["compact.reactive"];
    return why === "too-long" ? isOn && policy.compact?.lastRung === "extract" : isOn || source === "default";
  }

  async *#compact(ask: CompactDueInput["ask"]): AsyncGenerator<LoopEvent, RoomOutcome> {
    const compaction = compactDue(this.#deps, { ...this.#by, ask });
    for (;;) {
      const next = await compaction.next();
      if (next.done === true) return next.value;
      const [boundary] = next.value.kind === "compacted" && ask.cause === "refused" ? next.value.entries : [];
      if (boundary !== undefined) this.#attempts.push(boundary);
      yield next.value;
    }
  }

  /** No rung has helped: the view, and what is kept beside it, is as it was before the first. A disk that refuses leaves it plainer. */
  async *#takeBack(): AsyncGenerator<LoopEvent> {
    const line = this.#by.conversation.line.editable;
    const attempts = this.#attempts.splice(0).toReversed();
    if (line === undefined || attempts.length === 0) return;
    const undone: EntryId[] = [];
    let failed: WriteFailure | undefined;
    for (const edit of attempts) {
      const edited = await line.edit({ drafts: [{ type: "undo", edit }], cause: "refused", nature: "undone" });
      if (edited.kind === "edited") undone.push(...edited.entries);
      else failed ??= edited;
    }
    if (undone.length > 0) {
      await followUndo(this.#by.conversation, line);
      yield { kind: "edit", what: "undo", entries: undone };
    }
    if (failed !== undefined) yield { kind: "warning", code: "undo-failed", message: undoFailedText(failed) };
  }
}

/** One that compacts and has no rule for failures does as we do. */
const reactsOnce = ({ compact, summary }: Policy): boolean =>
  summary === undefined ? compact !== undefined : summary.failures.reactive === "once";

const undoFailedText = ({ message }: WriteFailure): string =>
  `What was left out for the refused request stays left out: ${message}`;

/** Whether there is room now. */
type RoomOutcome = "compacted" | "failed" | "later";
