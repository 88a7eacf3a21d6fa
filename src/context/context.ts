import type { CostReport } from "../cache/costs.ts";
import type { ResultContent } from "../schema/block.ts";
import { commitCompaction, cancelCompaction } from "../loop/compact/commit.ts";
import { proposeCompaction } from "../loop/compact/runner.ts";
import type { Conversation } from "../loop/agent/conversation.ts";
import { followUndo } from "../loop/agent/follow-undo.ts";
import { prepareRequest } from "../loop/agent/prepare.ts";
import { contextDraft } from "../loop/agent/reminders.ts";
import { type ReplyOutcome, ReplyTaker } from "../loop/agent/reply-taker.ts";
import type { AssembledRequest } from "../loop/agent/request.ts";
import { Results } from "../loop/agent/results.ts";
import { TurnRoom } from "../loop/agent/turn-room.ts";
import { expand, type Expanded } from "../loop/expand.ts";
import { FollowedReceipts, type RecordedEdit } from "../loop/past-receipts.ts";
import { SessionSearch } from "../loop/search-session.ts";
import { undo, type Undone } from "../loop/undo.ts";
import type { ModelEvent } from "../ports/model.ts";
import type { Hit } from "../ports/session-search.ts";
import { entryId, toolUseId } from "../schema/brand.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { ContentParams } from "../schema/wire/messages-params.ts";
import { type ContextReport, contextReport } from "../tokens/context-report.ts";
import { accepted, ContextError, refusedByStore } from "./context-error.ts";
import {
  jsonOf,
  paramsOf,
  type Provider,
  refusalFrom,
  type Reply,
  replyEvents,
  streamAssembly,
  type StreamEvent,
} from "./forms.ts";
import type { AfterRefusal, CompactOptions, CompactOutcome, ContextEvent, NextRequest, ToolCall } from "./outcomes.ts";
import type { ContextParts, PrefixChange } from "./parts.ts";
import { untilAborted } from "./until-aborted.ts";
import { adviceFor, overLimitText, userContentDraft } from "./words.ts";

/**
 * A conversation without an end, for a model with one.
 *
 *   user ──▶ next ──▶ (the caller sends it) ──▶ assistant ──calls──▶ toolResult, each ──▶ next …
 *            next ──the provider refuses it──▶ refused ──retry──▶ next
 *
 * What adds or changes something resolves when the store has it. Calls are taken one after the other, in their order.
 */
export class Context<P extends Provider> {
  readonly #parts: ContextParts<P>;
  readonly #search: SessionSearch;
  readonly #leave = new AbortController();
  #conversation: Conversation;
  #results: Results;
  #room: TurnRoom;
  #sent: AssembledRequest | undefined;
  #opens: "turn" | "nothing" = "turn";
  #attempts = 0;
  readonly #receipts = new FollowedReceipts();
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ContextParts<P>) {
    this.#parts = parts;
    this.#conversation = parts.conversation;
    this.#results = new Results(parts.deps, parts.conversation);
    this.#room = this.#newRoom();
    this.#search = new SessionSearch(parts.sessionDeps, parts.session.id);
  }

  /** By which it is opened again. */
  get session(): string {
    return this.#parts.session.id;
  }

  /** What the user said. */
  user(content: string | readonly ContentParams[]): Promise<void> {
    return this.#inTurn(async () => {
      const draft = userContentDraft(content);
      // A run that was killed left calls open: nobody knows how far they came.
      accepted(await this.#conversation.line.settle());
      accepted(await this.#drained(this.#results.takeOver(this.#leave.signal)));
      accepted(await this.#conversation.line.append(draft));
      this.#opens = "turn";
      this.#attempts = 0;
      this.#calls.clear();
      this.#room = this.#newRoom();
    });
  }

  /** What the model should know, and the user did not say. */
  reminder(text: string): Promise<void> {
    return this.#inTurn(async () => accepted(await this.#conversation.line.append(contextDraft(text))));
  }

  /** The next request. The layers run here; it fits the window. */
  next({ signal }: { readonly signal?: AbortSignal } = {}): Promise<NextRequest<P>> {
    return this.#inTurn(async () => {
      const both = signal === undefined ? this.#leave.signal : AbortSignal.any([signal, this.#leave.signal]);
      const { deps, provider } = this.#parts;
      const conversation = this.#conversation;
      const before = { conversation, signal: both, opens: this.#opens, room: this.#room };
      const prepared = await this.#drained(prepareRequest(deps, before));
      switch (prepared.kind) {
        case "request":
          break;
        case "failed":
          throw refusedByStore(prepared);
        case "aborted":
          throw new ContextError("aborted", "The request was not prepared: it was aborted.");
        case "not-sendable":
          throw new ContextError("not-sendable", `There is no request to send: ${prepared.why.text}`);
        case "over-limit":
          throw new ContextError("over-limit", overLimitText(prepared));
      }
      this.#opens = "nothing";
      this.#results.sent();
      this.#sent = prepared;
      await this.#followReceipts();
      const { request, tokens } = prepared;
      return { params: paramsOf(provider, request), betas: request.betas, tokens };
    });
  }

  /** The reply to the last `next()`. Gives the calls that wait for a result. */
  assistant(reply: Reply<P>): Promise<readonly ToolCall[]> {
    return this.#inTurn(async () => {
      const { provider, sessionDeps } = this.#parts;
      const taker = await this.#taker();
      const outcome = await this.#takeAll(taker, replyEvents(provider, reply, sessionDeps));
      return await this.#settled(taker, outcome ?? { kind: "aborted" });
    });
  }

  /**
   * The same as it streams: each block is stored as it ends. Where the stream breaks off, what came whole stays, and the
   * stream's error is thrown on.
   */
  assistantStream(events: AsyncIterable<StreamEvent<P>>): Promise<readonly ToolCall[]> {
    return this.#inTurn(async () => {
      const { provider, sessionDeps } = this.#parts;
      const taker = await this.#taker();
      const assembly = streamAssembly(provider, sessionDeps);
      try {
        for await (const event of untilAborted(events, this.#leave.signal)) {
          const outcome = await this.#takeAll(taker, assembly.take(jsonOf(event)));
          if (outcome !== undefined) return await this.#settled(taker, outcome);
        }
      } catch (error) {
        await taker.left({ kind: "aborted" });
        throw error;
      }
      const outcome = await this.#takeAll(taker, assembly.end());
      if (outcome === undefined) await taker.left({ kind: "aborted" });
      return await this.#settled(taker, outcome ?? { kind: "aborted" });
    });
  }

  /** The result of one call. A large one goes to the store, and the model sees its beginning. */
  toolResult(id: string, content: ResultContent, { isError = false } = {}): Promise<void> {
    return this.#inTurn(async () => {
      const call = this.#calls.get(id);
      if (call === undefined) throw new ContextError("unknown-call", `No call with the id ${id} waits for a result.`);
      const { tools } = this.#parts.deps;
      const outcome = isError ? "failed" : "done";
      const tool = tools.find(({ name }) => name === call.name);
      const block = { type: "tool_use", id: toolUseId(id), name: call.name, input: call.input } as const;
      await this.#results.take({ call: block, tool, content, outcome, summary: "" });
      accepted(await this.#drained(this.#results.roundEnds()));
      this.#calls.delete(id);
      await this.#followReceipts();
    });
  }

  /** What a provider's client threw, or its status and body: whether the next `next()` may be taken. */
  refused(error: unknown): Promise<AfterRefusal> {
    return this.#inTurn(async () => {
      const { provider, deps } = this.#parts;
      if (error instanceof ContextError) return { kind: "stop", advice: error.message };
      const failure = refusalFrom(provider, deps, error);
      await this.#conversation.line.settle();
      const after = await this.#drained(this.#room.refused(failure));
      await this.#followReceipts();
      if (after.kind === "failed") throw refusedByStore(after);
      if (after.kind === "plainer") return { kind: "retry", afterMs: 0, because: failure.message };
      this.#attempts += 1;
      if (failure.retry === "never" || this.#attempts >= deps.retries.triesMax)
        return { kind: "stop", advice: adviceFor(failure, after.tried.length) };
      const { backoffMillis, backoffMillisMax } = deps.retries;
      const waited = failure.retryAfterMs ?? Math.min(backoffMillisMax, backoffMillis * 2 ** (this.#attempts - 1));
      return { kind: "retry", afterMs: waited, because: failure.message };
    });
  }

  /** Sums up what was said, now. */
  compact({ preview = false, instructions, signal }: CompactOptions = {}): Promise<CompactOutcome> {
    return this.#inTurn(async () => {
      const { deps } = this.#parts;
      const conversation = this.#conversation;
      const { compacting } = conversation;
      if (compacting === undefined) throw new TypeError("a context that never compacts");
      const ask = {
        trigger: "manual",
        cause: "person",
        part: { kind: "all" },
        ...(instructions === undefined ? {} : { instructions }),
      } as const;
      const asked = signal === undefined ? this.#leave.signal : AbortSignal.any([signal, this.#leave.signal]);
      const proposed = await this.#drained(proposeCompaction(deps, { conversation, compacting, ask, signal: asked }));
      if (proposed.kind === "failed") return proposed;
      const { proposal } = proposed;
      const shown = { summary: proposal.summary, preview: proposal.preview };
      if (preview) {
        await cancelCompaction(deps, { compacting, proposal });
        return { kind: "preview", ...shown };
      }
      const committed = await this.#drained(commitCompaction(deps, { conversation, compacting, proposal }));
      await this.#followReceipts();
      return committed.kind === "committed"
        ? { kind: "compacted", ...shown }
        : { kind: "failed", reason: committed.reason, message: committed.message };
    });
  }

  /** Takes back the newest change of the view, or the one that is named. */
  undo(edit?: string): Promise<Undone> {
    return this.#inTurn(async () => {
      const { session, deps } = this.#parts;
      const { thresholds } = deps.numbers();
      const undone = await undo(session, {
        mode: "path",
        blockingTokens: thresholds.blocking,
        thinking: this.#conversation.known?.thinking ?? "free",
        ...(edit === undefined ? {} : { target: entryId(edit) }),
      });
      if (undone.kind !== "refused") await followUndo(this.#conversation, session);
      await this.#followReceipts();
      return undone;
    });
  }

  /** From now on this entry stays in the view as it is. */
  pin(entry: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#parts.session.fold.path.has(entryId(entry)))
        throw new ContextError("unknown-entry", `No entry of this session has the id ${entry}.`);
      const drafts = [{ type: "pin", entry: entryId(entry) }];
      const edited = await this.#parts.session.edit({ drafts, cause: "asked", nature: "reduced" });
      if (edited.kind === "failed") throw refusedByStore(edited);
      await this.#followReceipts();
    });
  }

  /** Finds what was ever said, also what is not shown any more. Best first. */
  async recall(query: string, options: { readonly page?: number } = {}): Promise<readonly Hit[]> {
    const searched = await this.#search.search({ query, page: options.page });
    return searched?.kind === "found" ? searched.hits : [];
  }

  /** The whole of what an id stands for: a hit's, a receipt's, a call's. */
  async expand(id: string): Promise<Expanded> {
    const { sessionDeps, session } = this.#parts;
    const source = await sessionDeps.transcripts.openForReading(session.id);
    if (source === undefined) throw new ContextError("store", "The transcript can't be read.");
    try {
      return await expand(sessionDeps, source, id);
    } finally {
      await source.close();
    }
  }

  /** Every change of the view, oldest first, with what it removed, saved and cost. */
  receipts(): readonly RecordedEdit[] {
    return this.#receipts.list(this.#parts.session.fold);
  }

  /** What fills the window. */
  report(): ContextReport {
    const { session, deps } = this.#parts;
    const { thresholds, autoCompact } = deps.numbers();
    return contextReport({ fold: session.fold, ledger: session.ledger, thresholds, autoCompact });
  }

  /** What was paid so far, as the provider's usage tells it. */
  costs(): CostReport {
    return this.#conversation.costs.toJSON();
  }

  /** From the next request on. What the cache held of the requests so far is lost with another set of tools. */
  setTools(tools: readonly object[]): Promise<void> {
    return this.#inTurn(() => this.#change({ tools: tools.map(jsonOf) }));
  }

  /** From the next request on. */
  setModel(model: string): Promise<void> {
    return this.#inTurn(() => this.#change({ model }));
  }

  /** Waits for what was begun, and lets the session go. */
  async close(): Promise<void> {
    this.#leave.abort();
    await this.#last;
    await this.#parts.session.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #calls = new Map<string, ToolCall>();

  async #change(change: PrefixChange): Promise<void> {
    this.#conversation = await this.#parts.change(change);
    this.#results = new Results(this.#parts.deps, this.#conversation);
    this.#room = this.#newRoom();
  }

  #newRoom(): TurnRoom {
    return new TurnRoom(this.#parts.deps, { conversation: this.#conversation, signal: this.#leave.signal });
  }

  async #taker(): Promise<ReplyTaker> {
    const assembled = this.#sent;
    if (assembled === undefined)
      throw new ContextError("no-request", "A reply belongs to a request: call next() before assistant().");
    const taker = new ReplyTaker(this.#parts.deps, { conversation: this.#conversation, assembled });
    await taker.begin();
    return taker;
  }

  async #takeAll(taker: ReplyTaker, events: readonly ModelEvent[]): Promise<ReplyOutcome | undefined> {
    for (const event of events) {
      const outcome = await this.#drained(taker.take(event));
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  async #settled(taker: ReplyTaker, outcome: ReplyOutcome): Promise<readonly ToolCall[]> {
    for (const event of taker.over()) this.#tell(event);
    switch (outcome.kind) {
      case "unwritten":
        throw refusedByStore(outcome.failure);
      case "failed":
        await taker.left(outcome);
        throw new ContextError("broken-reply", outcome.message);
      case "aborted":
        throw new ContextError("broken-reply", "The reply broke off before its end. What came whole of it is kept.");
      case "replied":
    }
    this.#attempts = 0;
    this.#sent = undefined;
    this.#room.replied();
    const calls = outcome.calls.map(({ call: { id, name, input }, flawed }): ToolCall => {
      const read = { id: String(id), name, input };
      return flawed === undefined ? read : { ...read, flawed };
    });
    this.#calls.clear();
    for (const call of calls) this.#calls.set(call.id, call);
    this.#conversation.compacting?.preparation?.roundEnded();
    if (calls.length === 0) accepted(await this.#conversation.line.endTurn());
    return calls;
  }

  async #followReceipts(): Promise<void> {
    const { session, sessionDeps } = this.#parts;
    await this.#receipts.follow(session.fold, async () => {
      const source = await sessionDeps.transcripts.openForReading(session.id);
      return source && { source, close: () => source.close() };
    });
  }

  /** Runs something that tells of itself to its end. */
  async #drained<Result>(steps: AsyncGenerator<LoopEvent, Result> | Generator<LoopEvent, Result>): Promise<Result> {
    for (;;) {
      const step = await steps.next();
      if (step.done === true) return step.value;
      this.#tell(step.value);
    }
  }

  /** A listener that throws keeps nothing from being stored; its error comes to light outside. */
  #tell(event: ContextEvent): void {
    try {
      this.#parts.onEvent?.(event);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#leave.signal.aborted) return Promise.reject(new ContextError("closed", "The context is closed."));
    const result = this.#last.then(act, act);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
