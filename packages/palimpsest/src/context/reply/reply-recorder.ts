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
 * Records one reply in the transcript, event by event, and tracks what it means for the cache and the costs. After a
 * failure another try may begin: its reply becomes a branch next to the blocks of the failed one.
 */
export class ReplyRecorder {
  readonly #deps: ClockDep;
  readonly #input: PendingRequest;
  #writer: ReplyWriter;
  /** The writer whose costs are already booked. */
  #booked: ReplyWriter | undefined;
  /** The messages as they were sent: the assembled list is live, and a broken try leaves blocks in it. */
  readonly #sent: readonly Message[];
  readonly #doubtedBefore: DoubtedUsage | undefined;
  #hasBegun = false;
  #sentAt: Millis;
  #begunUsage: JsonObject | undefined;
  /** A cache break that nothing in the request explains. */
  #unexplained: CacheBreak | undefined;

  constructor(deps: ClockDep, input: PendingRequest) {
    this.#deps = deps;
    this.#input = input;
    this.#sent = input.assembled.request.messages;
    this.#doubtedBefore = input.conversation.line.doubtedUsage;
    this.#writer = new ReplyWriter(input.conversation);
    this.#sentAt = deps.now();
  }

  /** Keeps the complete blocks of a reply that broke off. */
  async keepPartial(outcome: ReplyOutcome): Promise<ReplyOutcome> {
    const failure = await this.#writer.keep();
    if (failure !== undefined) return { kind: "unwritten", failure };
    await this.#bookUnwritten();
    return outcome;
  }

  /** Continues the conversation from before the reply, whose blocks stay in the log, off the path. */
  async abandon(): Promise<WriteFailure | undefined> {
    const at = this.#writer.retryParent;
    if (at === undefined) return undefined;
    const appended = await this.#input.conversation.line.appendInstead(at, abandonedReplyDraft);
    return appended.kind === "failed" ? appended : undefined;
  }

  /** Called when the request is sent, also when it is sent again. */
  async begin(): Promise<void> {
    await this.#bookUnwritten();
    this.#writer = new ReplyWriter(this.#input.conversation, this.#writer.retryParent);
    this.#begunUsage = undefined;
    this.#sentAt = this.#deps.now();
  }

  /** Undefined until the reply has ended. */
  async *record(event: ModelEvent): AsyncGenerator<LoopEvent, ReplyOutcome | undefined> {
    const writer = this.#writer;
    switch (event.kind) {
      case "reply-start":
        this.#begunUsage = event.usage;
        writer.start(event);
        yield* this.#handleStart(event, this.#sentAt);
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
        return yield* this.#handleEnd(event);
      case "failure":
        // A broken reply is paid for too.
        if (this.#begunUsage !== undefined) this.#addCost(this.#begunUsage);
        return { kind: "failed", failure: event.failure, message: event.failure.message };
    }
  }

  /** Called however the try ended: a reply that broke off does not tell what the server left out. */
  *finish(): Generator<LoopEvent> {
    yield* this.#settleBreak([]);
  }

  async *#handleEnd(event: ReplyEnd): AsyncGenerator<LoopEvent, ReplyOutcome> {
    const { conversation } = this.#input;
    const writer = this.#writer;
    const failure = await writer.end(event);
    if (failure !== undefined) return { kind: "unwritten", failure };
    const { stopReason } = event;
    this.#addCost(event.usage);
    await this.#bookUnwritten();
    conversation.cache?.replied(this.#deps.now());
    yield { kind: "reply-end", id: writer.id, stopReason, usage: readUsage({ usage: event.usage }) };
    yield* this.#settleBreak(event.appliedEdits ?? []);
    yield* conversation.doubts.announce({ before: this.#doubtedBefore, now: conversation.line.doubtedUsage });
    yield* conversation.doubts.tellCounter(conversation.line.doubtedCounter);
    yield* this.#recordServerEdits(event.appliedEdits ?? []);
    return { kind: "replied", calls: writer.calls, stopReason };
  }

  /** The first byte has arrived: other requests may read what this one wrote, and its usage tells what it could read. */
  *#handleStart({ usage, withheldTokens }: ReplyStart, sent: Millis): Generator<LoopEvent> {
    const { conversation, assembled } = this.#input;
    const asSent = { ...assembled, messages: this.#sent };
    if (!this.#hasBegun) conversation.written.recordWrites(asSent.messages, asSent.breakpoints);
    if (assembled.marks !== undefined)
      conversation.cache?.began(assembled.marks, { at: sent, tokens: assembled.tokens });
    this.#hasBegun = true;
    const startUsage = readUsage({ usage });
    if (startUsage === undefined) return;
    const request = toSentRequest(this.#deps.now(), { conversation, assembled: asSent });
    const broken = conversation.breaks.observe(request, { ...startUsage, withheldTokens });
    if (broken === undefined) return;
    conversation.cache?.server.lostCache();
    // What the server left out by its own rules is known when the reply ends, and may be the cause.
    if (broken.cause.kind === "unknown" && conversation.cache?.server.asked?.params["context_management"] !== undefined)
      this.#unexplained = broken;
    else yield breakEvent(broken);
  }

  *#settleBreak(applied: readonly JsonObject[]): Generator<LoopEvent> {
    const broken = this.#unexplained;
    this.#unexplained = undefined;
    if (broken === undefined) return;
    const isByServer = this.#input.conversation.cache?.server.isNews(applied) === true;
    yield breakEvent(
      isByServer ? { ...broken, cause: { kind: "server-cleared", tokens: readServerCleared(applied).tokens } } : broken,
    );
  }

  /** Records and reports what the server left out by itself, each time that it changes. A write failure fails no turn. */
  async *#recordServerEdits(applied: readonly JsonObject[]): AsyncGenerator<LoopEvent> {
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

  /** Books the cost of a try that left no entry in the log. A write failure fails no turn. */
  async #bookUnwritten(): Promise<void> {
    const { source, baseline, line } = this.#input.conversation;
    const usage = this.#booked === this.#writer ? undefined : this.#writer.unwrittenUsage;
    this.#booked = this.#writer;
    // The caller of a fork books its cost.
    if (usage !== undefined && source === "main") await line.append(replyCostDraft({ model: baseline.model, usage }));
  }

  #addCost(usage: JsonObject): void {
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
 * Writes one reply to the transcript, each block as its own entry. The newest block is held back until the next one is
 * complete or the reply ends, so that the last entry carries the final usage.
 */
export class ReplyWriter {
  readonly #line: Line;
  readonly #ids: UsedIds;
  readonly #requestedModel: string | undefined;
  readonly #calls: ReplyCall[] = [];
  #start: { readonly id: MessageId; readonly model: string; readonly usage: JsonObject } | undefined;
  #usage: JsonObject | undefined;
  #held: PendingBlock | undefined;
  #written = 0;
  readonly #branchesAt: EntryId | null | undefined;
  #parent: EntryId | null = null;

  /**
   * `branchesAt`: `retryParent` of the previous try. By default the reply continues at the leaf, even if something was
   * appended since the request.
   */
  constructor({ line, ids, baseline }: ReplyWriterInput, branchesAt?: EntryId | null) {
    this.#line = line;
    this.#ids = ids;
    this.#requestedModel = baseline?.model;
    this.#branchesAt = branchesAt;
  }

  /**
   * The entry after which another try begins, as a branch next to this one; null at the very beginning. Undefined if this
   * try has written nothing.
   */
  get retryParent(): EntryId | null | undefined {
    return this.#written === 0 ? this.#branchesAt : this.#parent;
  }

  get id(): MessageId {
    return this.#start?.id ?? messageId("");
  }

  /** The provider's last count for a reply without an entry. Undefined if there is an entry, or if no reply began. */
  get unwrittenUsage(): JsonObject | undefined {
    return this.#written === 0 ? this.#usage : undefined;
  }

  /** The calls among the written blocks. */
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

  /** Writes the block that is held back. Called when a reply broke off. */
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
    const draft = replyDraft({ ...start, asked: this.#requestedModel, content: [block], ...final });
    const branchesAt = this.#written === 0 ? this.#branchesAt : undefined;
    if (this.#written === 0) this.#parent = branchesAt === undefined ? this.#line.leaf : branchesAt;
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

/** A call as it is in the transcript. */
export interface ReplyCall {
  readonly call: ToolUseBlock;
  /** Why its input could not be read. */
  readonly flawed: string | undefined;
}

interface PendingBlock {
  readonly block: Block;
  readonly flawed: string | undefined;
}
