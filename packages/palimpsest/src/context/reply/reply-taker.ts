import { type CacheBreak, causeText } from "../../cache/breaks.ts";
import { appliedDraft } from "../../layers/2-clear/by-server.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model.ts";
import type { Block, Message } from "../../schema/block.ts";
import { type Millis, tokens } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { type JsonObject, text } from "../../schema/json.ts";
import { readServerCleared } from "../../schema/server-cleared.ts";
import { readUsage } from "../../schema/usage.ts";
import type { DoubtedUsage } from "../../tokens/ledger.ts";
import { replyLeftDraft, replySpentDraft } from "./reply-spent.ts";
import { type ReplyCall, ReplyWriter } from "./reply-writer.ts";
import { sentAt, type Sending } from "../request/request.ts";

export type ReplyOutcome =
  | { readonly kind: "replied"; readonly calls: readonly ReplyCall[]; readonly stopReason: string }
  | { readonly kind: "failed"; readonly failure: ModelFailure; readonly message: string }
  | { readonly kind: "aborted" }
  | { readonly kind: "unwritten"; readonly failure: WriteFailure };

/**
 * Takes one reply into the transcript, event by event, and tells what each means for the cache and the bill. After a
 * failure another try may begin: its reply stands beside what came of the one before.
 */
export class ReplyTaker {
  readonly #deps: ClockDep;
  readonly #input: Sending;
  #writer: ReplyWriter;
  /** Whose costs are written down. */
  #booked: ReplyWriter | undefined;
  /** As they were sent: the assembled list is live, and a broken try leaves blocks in it that the next one does not send. */
  readonly #sent: readonly Message[];
  readonly #doubtedBefore: DoubtedUsage | undefined;
  #hasBegun = false;
  #sentAt: Millis;
  #begunUsage: JsonObject | undefined;
  /** A break for which nothing that was sent is the reason. */
  #unexplained: CacheBreak | undefined;

  constructor(deps: ClockDep, input: Sending) {
    this.#deps = deps;
    this.#input = input;
    this.#sent = input.assembled.request.messages;
    this.#doubtedBefore = input.conversation.line.doubtedUsage;
    this.#writer = new ReplyWriter(input.conversation);
    this.#sentAt = deps.now();
  }

  /** What came whole of a reply that broke off is kept. Another try stands beside it. */
  async keepPartial(outcome: ReplyOutcome): Promise<ReplyOutcome> {
    const failure = await this.#writer.keep();
    if (failure !== undefined) return { kind: "unwritten", failure };
    await this.#bookUnwritten();
    return outcome;
  }

  /** What came of it stays in the log beside the path: the conversation goes on where the request stood. */
  async leave(): Promise<WriteFailure | undefined> {
    const at = this.#writer.againAt;
    if (at === undefined) return undefined;
    const appended = await this.#input.conversation.line.appendInstead(at, replyLeftDraft);
    return appended.kind === "failed" ? appended : undefined;
  }

  /** The request is sent now, perhaps again. */
  async begin(): Promise<void> {
    await this.#bookUnwritten();
    this.#writer = new ReplyWriter(this.#input.conversation, this.#writer.againAt);
    this.#begunUsage = undefined;
    this.#sentAt = this.#deps.now();
  }

  /** Undefined: the reply goes on. */
  async *take(event: ModelEvent): AsyncGenerator<LoopEvent, ReplyOutcome | undefined> {
    const writer = this.#writer;
    switch (event.kind) {
      case "reply-start":
        this.#begunUsage = event.usage;
        writer.start(event);
        yield* this.#began(event, this.#sentAt);
        yield { kind: "reply-start", id: writer.id };
        return undefined;
      case "text-delta":
      case "thinking-delta":
        yield { kind: event.kind, text: event.text };
        return undefined;
      case "input-delta":
        return undefined;
      case "block-end": {
        if (event.flawed !== undefined) yield flawWarning(event.block, event.flawed);
        const failure = await writer.block(event);
        return failure && { kind: "unwritten", failure };
      }
      case "reply-end":
        return yield* this.#ended(event);
      case "failure":
        // What a broken reply read and wrote is paid for all the same.
        if (this.#begunUsage !== undefined) this.#paid(this.#begunUsage);
        return { kind: "failed", failure: event.failure, message: event.failure.message };
    }
  }

  /** However the try ended: a reply that did not end by itself says nothing of what the server left out. */
  *over(): Generator<LoopEvent> {
    yield* this.#settleBreak([]);
  }

  async *#ended(event: ReplyEnd): AsyncGenerator<LoopEvent, ReplyOutcome> {
    const { conversation } = this.#input;
    const writer = this.#writer;
    const failure = await writer.end(event);
    if (failure !== undefined) return { kind: "unwritten", failure };
    const { stopReason } = event;
    this.#paid(event.usage);
    await this.#bookUnwritten();
    conversation.cache?.replied(this.#deps.now());
    yield { kind: "reply-end", id: writer.id, stopReason, usage: readUsage({ usage: event.usage }) };
    yield* this.#settleBreak(event.appliedEdits ?? []);
    yield* conversation.doubts.tell({ before: this.#doubtedBefore, now: conversation.line.doubtedUsage });
    yield* conversation.doubts.tellCounter(conversation.line.doubtedCounter);
    yield* this.#applied(event.appliedEdits ?? []);
    return { kind: "replied", calls: writer.calls, stopReason };
  }

  /** The first byte is here: others may read what this request wrote, and its usage tells what it could read itself. */
  *#began({ usage, withheldTokens }: ReplyStart, sent: Millis): Generator<LoopEvent> {
    const { conversation, assembled } = this.#input;
    const whole = { ...assembled, messages: this.#sent };
    if (!this.#hasBegun) conversation.written.began(whole.messages, whole.breakpoints);
    if (assembled.marks !== undefined)
      conversation.cache?.began(assembled.marks, { at: sent, tokens: assembled.tokens });
    this.#hasBegun = true;
    const told = readUsage({ usage });
    if (told === undefined) return;
    const request = sentAt(this.#deps.now(), { conversation, assembled: whole });
    const broken = conversation.breaks.observe(request, { ...told, withheldTokens });
    if (broken === undefined) return;
    conversation.cache?.server.lostCache();
    // What the server leaves out by its own rule it says when the reply ends, and that may be why.
    if (broken.cause.kind === "unknown" && conversation.cache?.server.asked?.params["context_management"] !== undefined)
      this.#unexplained = broken;
    else yield breakEvent(broken);
  }

  *#settleBreak(applied: readonly JsonObject[]): Generator<LoopEvent> {
    const broken = this.#unexplained;
    this.#unexplained = undefined;
    if (broken === undefined) return;
    const isOther = this.#input.conversation.cache?.server.isNews(applied) === true;
    yield breakEvent(
      isOther ? { ...broken, cause: { kind: "server-cleared", tokens: readServerCleared(applied).tokens } } : broken,
    );
  }

  /** What the server left out by itself is written down and told, each time that it is another. A disk that refuses fails no turn. */
  async *#applied(applied: readonly JsonObject[]): AsyncGenerator<LoopEvent> {
    const { cache, line } = this.#input.conversation;
    if (cache?.server.isNews(applied) !== true) return;
    cache.server.applied(applied);
    await line.append(appliedDraft(applied));
    yield {
      kind: "server-cleared",
      tokens: tokens(readServerCleared(applied).tokens),
      what: applied.map((edit) => text(edit, "type") ?? "edit"),
    };
  }

  /** The log has to tell what the last try cost, although it tells nothing of its words. A disk that refuses fails no turn. */
  async #bookUnwritten(): Promise<void> {
    const { source, baseline, line } = this.#input.conversation;
    const usage = this.#booked === this.#writer ? undefined : this.#writer.unwrittenUsage;
    this.#booked = this.#writer;
    // Whoever sent a fork books what it cost.
    if (usage !== undefined && source === "main") await line.append(replySpentDraft({ model: baseline.model, usage }));
  }

  #paid(usage: JsonObject): void {
    const { costs, source, baseline, line } = this.#input.conversation;
    costs.add({ source, model: baseline.model, usage, headerTokens: line.fixedTokens });
  }
}

type ReplyStart = Extract<ModelEvent, { kind: "reply-start" }>;
type ReplyEnd = Extract<ModelEvent, { kind: "reply-end" }>;

const breakEvent = ({ cause, lostTokens }: CacheBreak): LoopEvent => ({
  kind: "cache-break",
  cause: causeText(cause),
  tokens: tokens(Math.round(lostTokens)),
});

const flawWarning = (block: Block, flawed: string): LoopEvent => ({
  kind: "warning",
  code: "flawed-input",
  message: block.type === "tool_use" ? `A call of ${block.name} is not run. ${flawed}` : flawed,
});
