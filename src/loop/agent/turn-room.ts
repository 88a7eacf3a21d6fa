import { ratesOf } from "../../cache/rates.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ModelFailure } from "../../ports/model.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { LeftOutPart } from "../../schema/edit.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { compactDue, type CompactNow } from "../compact/automatic.ts";
import type { AgentDeps } from "./deps.ts";
import { type Rung, rungsFor } from "./refusal-ladder.ts";
import type { UnansweredTurn } from "./turn-ends.ts";

/** A reply that did not come to its own end. */
export interface CutReply extends UnansweredTurn {
  /** Of the request that it answered. */
  readonly requestTokens: number;
}

/** What becomes of a refused request. `stuck`: it can't be sent with less. */
export type AfterRefusal = { readonly kind: "plainer" | "stuck" } | WriteFailure;

/**
 * What a turn does for room besides the layers, which look before each request: it compacts where one turned out to be too
 * long, or the agent asked for it, and sends less where the provider refused one.
 */
export class TurnRoom {
  readonly #deps: AgentDeps;
  readonly #by: Omit<CompactNow, "ask">;
  /** Why it was compacted since the last reply that came to its end: once for each reason, then the failure is told. */
  readonly #compacted = new Set<CompactNow["ask"]["cause"]>();
  /** Edits since the last reply by which refused requests were sent with less. Where none helps, they are taken back. */
  #attempts: EntryId[] = [];

  constructor(deps: AgentDeps, { conversation, signal }: Omit<CompactNow, "ask">) {
    this.#deps = deps;
    this.#by = { conversation, signal };
  }

  /** A reply came to its own end: there was room for it. */
  replied(): void {
    this.#compacted.clear();
    this.#attempts = [];
  }

  /** The agent's own wish, now that every call has its answer. */
  async *asked(): AsyncGenerator<LoopEvent> {
    const wish = this.#by.conversation.compacting?.asks?.take();
    if (wish === undefined) return;
    yield* this.#compact({ cause: "agent", note: wish.note, because: "the agent asked for it" });
  }

  /** Walks the ladder to the next rung that makes the request plainer or shorter. What a refusal says of the window counts at once. */
  async *refused(failure: ModelFailure): AsyncGenerator<LoopEvent, AfterRefusal> {
    const { limitTokens, limitOf = "window", message } = failure;
    const { model } = this.#by.conversation.baseline;
    if (limitTokens !== undefined) await this.#deps.learn({ model, limitTokens, limitOf, from: message });
    for (const rung of rungsFor(failure)) {
      const tried = yield* this.#climb(rung, failure);
      if (tried.kind !== "stuck" || this.#by.signal.aborted) return tried;
    }
    yield* this.#takeBack();
    return { kind: "stuck" };
  }

  /** A reply that broke off over the threshold, or where the provider's window ends, had too little room: the work goes on behind a summary, also one without a model. */
  async *cut({ reason, message, requestTokens }: CutReply): AsyncGenerator<LoopEvent, Made> {
    if (reason === "over-limit") return yield* this.#once({ cause: "overflow", because: message });
    const { thresholds, autoCompact } = this.#deps.numbers();
    if (reason === "refused" || autoCompact === "off" || requestTokens < thresholds.compact) return "failed";
    return yield* this.#compact({ cause: "limit", because: message });
  }

  async *#climb(rung: Rung, { why, message: because }: ModelFailure): AsyncGenerator<LoopEvent, AfterRefusal> {
    if (rung !== "shorter" && rung !== "everything") return yield* this.#leaveOut(rung, because);
    if (rung === "everything" && !this.#mayExtract(why)) return { kind: "stuck" };
    const made = yield* this.#once({ cause: rung === "shorter" ? "overflow" : "refused", because });
    return { kind: made === "compacted" ? "plainer" : "stuck" };
  }

  async *#leaveOut(part: LeftOutPart, because: string): AsyncGenerator<LoopEvent, AfterRefusal> {
    const { conversation } = this.#by;
    const { line, known, cache, breaks } = conversation;
    const tokensBefore = line.usedTokens;
    const left = await line.leaveOut(part, { because, rates: ratesOf(known, cache?.lifetime ?? "5m") });
    if (left.kind === "nothing") return { kind: "stuck" };
    if (left.kind === "failed") return left;
    const { count, edits, receipt } = left;
    this.#attempts.push(...edits);
    breaks.expect("clear");
    const priced = receipt === undefined ? {} : { price: receipt.price };
    const sizes = { tokensBefore, tokensAfter: line.usedTokens };
    yield { kind: "left-out", part, count, ...sizes, because, entries: edits, ...priced };
    return { kind: "plainer" };
  }

  async *#once(ask: Pick<CompactNow["ask"], "cause" | "because">): AsyncGenerator<LoopEvent, Made> {
    const { switches, policy } = this.#deps.numbers();
    const mayReact = switches["compact.reactive"].value && policy.summary?.failures.reactive === "once";
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

  async *#compact(ask: CompactNow["ask"]): AsyncGenerator<LoopEvent, Made> {
    const compaction = compactDue(this.#deps, { ...this.#by, ask });
    for (;;) {
      const next = await compaction.next();
      if (next.done === true) return next.value;
      const [boundary] = next.value.kind === "compacted" && ask.cause === "refused" ? next.value.entries : [];
      if (boundary !== undefined) this.#attempts.push(boundary);
      yield next.value;
    }
  }

  /** No rung has helped: the view is as it was before the first. A disk that refuses leaves it plainer, and that is told by the receipts. */
  async *#takeBack(): AsyncGenerator<LoopEvent> {
    const line = this.#by.conversation.line.editable;
    const attempts = this.#attempts.splice(0).toReversed();
    if (line === undefined || attempts.length === 0) return;
    const undone: EntryId[] = [];
    for (const edit of attempts) {
      const edited = await line.edit({ drafts: [{ type: "undo", edit }], cause: "refused", nature: "undone" });
      if (edited.kind === "edited") undone.push(...edited.entries);
    }
    yield { kind: "edit", what: "undo", entries: undone };
  }
}

/** Whether there is room now. */
type Made = "compacted" | "failed" | "later";
