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

/** A reply that was cut off. */
export interface CutReply extends UnansweredTurn {
  /** Size of the request that it answered. */
  readonly requestTokens: number;
}

/** What becomes of a refused request. `stuck`: nothing more can be left out; `tried`: what else was refused, in order. */
export type RefusalOutcome =
  | { readonly kind: "plainer" }
  | { readonly kind: "stuck"; readonly tried: readonly Rung[] }
  | WriteFailure;

/** `passed`: the rung would change nothing. */
type RungOutcome = { readonly kind: "plainer" } | { readonly kind: "passed" } | WriteFailure;

type TurnRecoveryDeps = CompactionDeps & Pick<RoundsDeps, "learn">;

/**
 * How a turn makes room besides the layers, which run before each request: it compacts if a request was too long or if the
 * agent requested it, and sends less if the provider refused a request.
 */
export class TurnRecovery {
  readonly #deps: TurnRecoveryDeps;
  readonly #target: Omit<CompactDueInput, "ask">;
  /** Reasons for compactions since the last complete reply: each is tried once, then the failure is reported. */
  readonly #compactedFor = new Set<CompactDueInput["ask"]["cause"]>();
  /** Edits since the last reply that left something out of refused requests. If none helps, they are undone. */
  #attempts: EntryId[] = [];
  /** Rungs since the last reply that made the request simpler or shorter. */
  #tried: Rung[] = [];

  constructor(deps: TurnRecoveryDeps, { conversation, signal }: Omit<CompactDueInput, "ask">) {
    this.#deps = deps;
    this.#target = { conversation, signal };
  }

  /** Called when a reply is complete: there was room for it. */
  replied(): void {
    this.#compactedFor.clear();
    this.#attempts = [];
    this.#tried = [];
  }

  /** Compacts at the agent's request, once every call has its result. */
  async *compactIfAsked(): AsyncGenerator<LoopEvent> {
    const request = this.#target.conversation.compacting?.requests?.take();
    if (request === undefined) return;
    yield* this.#compact({ cause: "agent", note: request.note, because: "the agent asked for it" });
  }

  /**
   * Walks the ladder to the next rung that makes the request simpler or shorter. A window size that the refusal names
   * applies at once. Only a refusal at the end of the ladder shows that nothing helped. After any other failure, and after
   * an abort, what was left out stays left out, for the provider may accept that request.
   */
  async *refused(failure: ModelFailure): AsyncGenerator<LoopEvent, RefusalOutcome> {
    const { limitTokens, limitOf = "window", message } = failure;
    const { model } = this.#target.conversation.baseline;
    const { window: before } = this.#deps.settings();
    if (limitTokens !== undefined) await this.#deps.learn({ model, limitTokens, limitOf, from: message });
    if (this.#fitsSmallerWindow(before.tokens)) return { kind: "plainer" };
    const rungs = refusalLadder(failure);
    if (rungs.length === 0) return { kind: "stuck", tried: [] };
    for (const rung of rungs) {
      const climbed = yield* this.#climb(rung, failure);
      if (climbed.kind === "plainer") this.#tried.push(rung);
      if (climbed.kind !== "passed") return climbed;
      if (this.#target.signal.aborted) return { kind: "stuck", tried: this.#tried };
    }
    yield* this.#undoAttempts();
    return { kind: "stuck", tried: this.#tried };
  }

  /** The window is smaller than assumed, but the request fits it: only the limit of the reply was too high. */
  #fitsSmallerWindow(beforeTokens: number): boolean {
    const { window, thresholds } = this.#deps.settings();
    return window.tokens < beforeTokens && this.#target.conversation.line.usedTokens < thresholds.compact;
  }

  /**
   * A reply that was cut off over the threshold, or at the end of the provider's window, had too little room: the work
   * continues after a summary, if need be one without a model.
   */
  async *cut({ reason, message, requestTokens }: CutReply): AsyncGenerator<LoopEvent, RoomOutcome> {
    if (reason === "over-limit") return yield* this.#compactOnce({ cause: "overflow", because: message });
    const { thresholds, autoCompact } = this.#deps.settings();
    if (reason === "refused" || autoCompact === "off" || requestTokens < thresholds.compact) return "failed";
    return yield* this.#compact({ cause: "limit", because: message });
  }

  async *#climb(rung: Rung, { why, message: because }: ModelFailure): AsyncGenerator<LoopEvent, RungOutcome> {
    if (rung !== "shorter" && rung !== "everything") return yield* this.#leaveOut(rung, because);
    if (rung === "everything" && !this.#mayExtract(why)) return { kind: "passed" };
    const outcome = yield* this.#compactOnce({ cause: rung === "shorter" ? "overflow" : "refused", because });
    return { kind: outcome === "compacted" ? "plainer" : "passed" };
  }

  async *#leaveOut(part: LeftOutPart, because: string): AsyncGenerator<LoopEvent, RungOutcome> {
    const { conversation } = this.#target;
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

  async *#compactOnce(ask: Pick<CompactDueInput["ask"], "cause" | "because">): AsyncGenerator<LoopEvent, RoomOutcome> {
    const { switches, policy } = this.#deps.settings();
    const mayReact = switches["compact.reactive"].value && reactsOnce(policy);
    const isTried = this.#compactedFor.has(ask.cause);
    this.#compactedFor.add(ask.cause);
    if (isTried || (ask.cause !== "refused" && !mayReact)) return "failed";
    return yield* this.#compact(ask);
  }

  /**
   * A policy decides what happens to a request that is too long. No policy covers a request that is refused for its
   * content: there only the user's switch counts.
   */
  #mayExtract(why: ModelFailure["why"]): boolean {
    const { switches, policy } = this.#deps.settings();
    const { value: isOn, source } = switches["compact.reactive"];
    return why === "too-long" ? isOn && policy.compact?.lastRung === "extract" : isOn || source === "default";
  }

  async *#compact(ask: CompactDueInput["ask"]): AsyncGenerator<LoopEvent, RoomOutcome> {
    const compaction = compactDue(this.#deps, { ...this.#target, ask });
    for (;;) {
      const next = await compaction.next();
      if (next.done === true) return next.value;
      const [boundary] = next.value.kind === "compacted" && ask.cause === "refused" ? next.value.entries : [];
      if (boundary !== undefined) this.#attempts.push(boundary);
      yield next.value;
    }
  }

  /**
   * No rung has helped: restores the view, and the conversation's own state, as before the first rung. If the disk fails,
   * the view stays simplified.
   */
  async *#undoAttempts(): AsyncGenerator<LoopEvent> {
    const line = this.#target.conversation.line.editable;
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
      await followUndo(this.#target.conversation, line);
      yield { kind: "edit", what: "undo", entries: undone };
    }
    if (failed !== undefined) yield { kind: "warning", code: "undo-failed", message: undoFailedText(failed) };
  }
}

/** A policy that compacts but has no rule for failures reacts like ours. */
const reactsOnce = ({ compact, summary }: Policy): boolean =>
  summary === undefined ? compact !== undefined : summary.failures.reactive === "once";

const undoFailedText = ({ message }: WriteFailure): string =>
  `Content that was left out of the refused request could not be restored: ${message}`;

/** Is there room now? */
type RoomOutcome = "compacted" | "failed" | "later";
