import { type CacheBreak, causeText } from "../../cache/break-detector.ts";
import { serverEditsDraft } from "../../layers/2-clear/clear-by-server.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model-port.ts";
import type { Block, Message, ToolUseBlock } from "../../schema/block.ts";
import { type Millis, tokens, type EntryId, type MessageId, messageId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { type JsonObject, textField } from "../../schema/json.ts";
import { readServerCleared } from "../../schema/edit-kinds.ts";
import { readUsage } from "../../schema/usage.ts";
import type { DoubtedUsage } from "../../tokens/token-ledger.ts";
import { abandonedReplyDraft, replyCostDraft } from "../past-costs.ts";
import { toSentRequest, type PendingRequest } from "../request/assemble-request.ts";
import { replyDraft } from "../../transcript/draft.ts";
import type { Conversation, UsedIds } from "../conversation.ts";
import type { Line } from "../line.ts";

export type ReplyOutcome =
  | { readonly kind: "replied"; readonly calls: readonly ReplyCall[]; readonly stopReason: string }
  | { readonly kind: "failed"; readonly failure: ModelFailure; readonly message: string }
  | { readonly kind: "aborted" }
  | { readonly kind: "unwritten"; readonly failure: WriteFailure };

/**
 * Takes one reply into the transcript, event by event, and tells what each means for the cache and the bill. After a
 * failure another try may begin: its reply stands beside what came of the one before.
 */
export class ReplyRecorder {
  readonly #deps: ClockDep;
  readonly #input: PendingRequest;
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

  constructor(deps: ClockDep, input: PendingRequest) {
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
  async abandon(): Promise<WriteFailure | undefined> {
    const at = this.#writer.retryParent;
    if (at === undefined) return undefined;
    const appended = await this.#input.conversation.line.appendInstead(at, abandonedReplyDraft);
    return appended.kind === "failed" ? appended : undefined;
  }

  /** The request is sent now, perhaps again. */
  async begin(): Promise<void> {
    await this.#bookUnwritten();
    this.#writer = new ReplyWriter(this.#input.conversation, this.#writer.retryParent);
    this.#begunUsage = undefined;
    this.#sentAt = this.#deps.now();
  }

  /** Undefined: the reply goes on. */
  async *record(event: ModelEvent): AsyncGenerator<LoopEvent, ReplyOutcome | undefined> {
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
  *finish(): Generator<LoopEvent> {
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
    yield* conversation.doubts.announce({ before: this.#doubtedBefore, now: conversation.line.doubtedUsage });
    yield* conversation.doubts.tellCounter(conversation.line.doubtedCounter);
    yield* this.#applied(event.appliedEdits ?? []);
    return { kind: "replied", calls: writer.calls, stopReason };
  }

  /** The first byte is here: others may read what this request wrote, and its usage tells what it could read itself. */
  *#began({ usage, withheldTokens }: ReplyStart, sent: Millis): Generator<LoopEvent> {
    const { conversation, assembled } = this.#input;
    const whole = { ...assembled, messages: this.#sent };
    if (!this.#hasBegun) conversation.written.recordWrites(whole.messages, whole.breakpoints);
    if (assembled.marks !== undefined)
      conversation.cache?.began(assembled.marks, { at: sent, tokens: assembled.tokens });
    this.#hasBegun = true;
    const told = readUsage({ usage });
    if (told === undefined) return;
    const request = toSentRequest(this.#deps.now(), { conversation, assembled: whole });
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
    await line.append(serverEditsDraft(applied));
    yield {
      kind: "server-cleared",
      tokens: tokens(readServerCleared(applied).tokens),
      what: applied.map((edit) => textField(edit, "type") ?? "edit"),
    };
  }

  /** The log has to tell what the last try cost, although it tells nothing of its words. A disk that refuses fails no turn. */
  async #bookUnwritten(): Promise<void> {
    const { source, baseline, line } = this.#input.conversation;
    const usage = this.#booked === this.#writer ? undefined : this.#writer.unwrittenUsage;
    this.#booked = this.#writer;
    // Whoever sent a fork books what it cost.
    if (usage !== undefined && source === "main") await line.append(replyCostDraft({ model: baseline.model, usage }));
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

/**
 * Puts one reply into the transcript block by block, each as an entry of its own. The newest block is held back until the
 * next one is there or the reply ends, so that the last entry carries the final usage.
 */
export class ReplyWriter {
  readonly #line: Line;
  readonly #ids: UsedIds;
  readonly #asked: string | undefined;
  readonly #calls: ReplyCall[] = [];
  #start: { readonly id: MessageId; readonly model: string; readonly usage: JsonObject } | undefined;
  #usage: JsonObject | undefined;
  #held: PendingBlock | undefined;
  #written = 0;
  readonly #branchesAt: EntryId | null | undefined;
  #follows: EntryId | null = null;

  /** `branchesAt`: `againAt` of the try before. Absent: it goes on at the leaf, also where something was noted since it was asked for. */
  constructor({ line, ids, baseline }: ReplyWriterInput, branchesAt?: EntryId | null) {
    this.#line = line;
    this.#ids = ids;
    this.#asked = baseline?.model;
    this.#branchesAt = branchesAt;
  }

  /** The entry behind which another try begins, beside what came of this one; null at the very beginning. Undefined where nothing came. */
  get retryParent(): EntryId | null | undefined {
    return this.#written === 0 ? this.#branchesAt : this.#follows;
  }

  get id(): MessageId {
    return this.#start?.id ?? messageId("");
  }

  /** Of a reply that no entry tells of: what the provider counted last. Undefined where there is an entry, or no reply began. */
  get unwrittenUsage(): JsonObject | undefined {
    return this.#written === 0 ? this.#usage : undefined;
  }

  /** Of the blocks on disk. */
  get calls(): readonly ReplyCall[] {
    return this.#calls;
  }

  start({ id, model, usage }: Extract<ModelEvent, { kind: "reply-start" }>): void {
    this.#start = { id: this.#ids.reply(id), model, usage };
    this.#usage = usage;
  }

  async block({ block, flawed }: Extract<ModelEvent, { kind: "block-end" }>): Promise<WriteFailure | undefined> {
    const before = this.#held;
    this.#held = { block: block.type === "tool_use" ? { ...block, id: this.#ids.call(block.id) } : block, flawed };
    return before === undefined ? undefined : this.#write(before);
  }

  async end({ usage, stopReason }: Extract<ModelEvent, { kind: "reply-end" }>): Promise<WriteFailure | undefined> {
    const last = this.#held;
    this.#held = undefined;
    this.#usage = usage;
    return last === undefined ? undefined : this.#write(last, { usage, stop_reason: stopReason });
  }

  /** The reply ends here, whole or not: a block that came whole is kept. */
  async keep(): Promise<WriteFailure | undefined> {
    const last = this.#held;
    this.#held = undefined;
    return last === undefined ? undefined : this.#write(last);
  }

  async #write(
    { block, flawed }: PendingBlock,
    final: { readonly usage?: JsonObject; readonly stop_reason?: string } = {},
  ): Promise<WriteFailure | undefined> {
    const start = this.#start;
    if (start === undefined) throw new Error("a block of a reply that has not begun");
    const draft = replyDraft({ ...start, asked: this.#asked, content: [block], ...final });
    const branchesAt = this.#written === 0 ? this.#branchesAt : undefined;
    if (this.#written === 0) this.#follows = branchesAt === undefined ? this.#line.leaf : branchesAt;
    const appended = await (branchesAt === undefined
      ? this.#line.append(draft)
      : this.#line.appendInstead(branchesAt, draft));
    if (appended.kind === "failed") return appended;
    this.#written += 1;
    if (block.type === "tool_use") this.#calls.push({ call: block, flawed });
    return undefined;
  }
}

type ReplyWriterInput = Pick<Conversation, "line" | "ids"> & {
  readonly baseline?: Pick<Conversation["baseline"], "model">;
};

/** A call as it stands in the transcript. */
export interface ReplyCall {
  readonly call: ToolUseBlock;
  /** Why its input could not be read. */
  readonly flawed: string | undefined;
}

interface PendingBlock {
  readonly block: Block;
  readonly flawed: string | undefined;
}
