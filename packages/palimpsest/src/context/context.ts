import type { CostReport } from "../cache/cost-ledger.ts";
import { refusalLadder } from "./request/refusal-ladder.ts";
import {
  contextDraft,
  type BlockParams,
  checkModel,
  checkTools,
  resultContent,
  type SyncOptions,
  type SystemOption,
  type ToolOption,
  userContentDraft,
} from "./inputs.ts";
import { CallQueue } from "./call-queue.ts";
import { Rounds } from "./rounds.ts";
import { cutReplyEnd } from "./unanswered-turn.ts";
import type { ExpandOutcome } from "../session/expand.ts";
import type { RecordedEdit } from "../session/past-receipts.ts";
import { isOnPath, type UndoOutcome } from "../session/undo.ts";
import type { RecallOptions } from "../ports/recall-index.ts";
import type { SearchHit } from "../ports/session-search.ts";
import type { RecallScope } from "./session-view.ts";
import { entryId, toolUseId } from "../schema/brand.ts";
import type { ContextReport } from "../tokens/context-report.ts";
import {
  decideRetry,
  isCallerError,
  notPreparedError,
  requireSent,
  openCallsText,
  ContextError,
  storeError,
  throwIfFailed,
} from "./context-error.ts";
import {
  toJsonObject,
  type Provider,
  classifyRefusal,
  type Reply,
  type StreamEvent,
  type SyncInput,
} from "./provider-formats.ts";
import type { AfterRefusal, CompactOptions, CompactOutcome, NextRequest, SyncedRequest, ToolCall } from "./outcomes.ts";
import { toToolCall } from "./outcomes.ts";
import { Replies, type CompleteReply } from "./reply/replies.ts";
import type { SessionContext } from "./session-context.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Memory } from "../ports/memories.ts";
import type { AgentOptions, ForkOptions } from "./agent-options.ts";
import type { ContextParts, PrefixChange } from "./context-parts.ts";
import type { ContextMemory } from "./memory/context-memory.ts";
import { draftMemories } from "./memory/memory-session.ts";
import { EventEmitter } from "./event-emitter.ts";
import { toNextRequest } from "./request/next-request.ts";
import { ConversationSync } from "./sync/conversation-sync.ts";
import type { OutgoingMessage } from "./sync/outgoing-list.ts";

/**
 * An endless conversation for a model with a limited window.
 *
 *   user ──▶ next ──▶ (the caller sends it) ──▶ assistant ──calls──▶ toolResult, each ──▶ next …
 *            next ──the provider refuses it──▶ refused ──retry──▶ next
 *
 * A call that adds or changes something resolves when it is stored. Calls run one after the other, in their order.
 */
export class Context<P extends Provider> {
  /** The project's memories. Undefined if the store keeps none. */
  readonly memory: ContextMemory | undefined;
  readonly #parts: ContextParts<P, Context<P>>;
  readonly #core: SessionContext;
  readonly #closing = new AbortController();
  readonly #events: EventEmitter;
  #rounds: Rounds;
  readonly #replies: Replies<P>;
  readonly #sync: ConversationSync;
  /** Calls that wait for a result, by id. */
  readonly #calls = new Map<string, ToolCall>();
  #callsInRound = 0;
  #attempts = 0;
  readonly #queue = new CallQueue(this.#closing.signal, () => this.#core.session.writes);

  constructor(parts: ContextParts<P, Context<P>>) {
    this.#parts = parts;
    this.#core = parts.core;
    this.memory = parts.memory;
    this.#events = new EventEmitter((event) => {
      if (event.kind === "reply-start") parts.fork?.begun();
      parts.onEvent?.(event);
    });
    this.#rounds = this.#newRounds();
    this.#replies = new Replies({
      provider: parts.provider,
      deps: parts.sessionDeps,
      drain: (steps) => this.#events.drain(steps),
      signal: this.#closing.signal,
    });
    this.#sync = new ConversationSync(parts, {
      rounds: () => this.#rounds,
      beginTurn: () => this.#beginTurn(),
      beginRound: () => void (this.#rounds = this.#newRounds(this.#rounds)),
      events: this.#events,
    });
  }

  /** The id with which the session can be opened again. */
  get session(): string {
    return this.#core.session.id;
  }

  /** Adds a message of the user. */
  user(content: string | readonly BlockParams[]): Promise<void> {
    return this.#queue.run(async () => {
      const draft = userContentDraft(content);
      this.#replies.keep();
      await this.#beginTurn();
      throwIfFailed(await this.#rounds.say(draft));
    });
  }

  /** Adds information for the model that is not a message of the user. */
  reminder(text: string): Promise<void> {
    return this.#queue.run(() => this.#sayContext(contextDraft(text)));
  }

  /** Adds the memories that have to do with a message and are not in the view yet, and returns them. Call it after `user`. */
  remind(message: string): Promise<readonly Memory[]> {
    return this.#queue.run(async () => {
      const relevant = await this.memory?.relevant(message);
      if (relevant !== undefined) await this.#sayContext(draftMemories(relevant));
      return relevant?.memories ?? [];
    });
  }

  /** Runs the layers and returns the next request. It fits the window. */
  next({ signal }: { readonly signal?: AbortSignal } = {}): Promise<NextRequest<P>> {
    return this.#queue.run(async () => {
      const { sent } = this.#rounds;
      if (this.#replies.isBroken && sent !== undefined) return toNextRequest(this.#parts.provider, sent.assembled);
      return await this.#prepare(signal);
    }, signal);
  }

  /**
   * Takes a whole message list, in place of `user`, `toolResult` and `next`: adds what is new and branches at a change.
   */
  sync(messages: readonly SyncInput<P>[], options: SyncOptions = {}): Promise<SyncedRequest<P>> {
    const { signal } = options;
    const takeOver = this.#sync.announce(messages, options);
    return this.#queue.run(async () => {
      await this.#dropBrokenReply();
      const sync = await takeOver();
      for (const id of this.#calls.keys())
        if (!this.#core.session.fold.openCalls.has(toolUseId(id))) this.#calls.delete(id);
      // Not a copy, which would read the parameters.
      return Object.assign(await this.#prepare(signal), { sync });
    }, signal);
  }

  /** The newest request in the messages of the list given to `sync`. Undefined: send `params`. Read it before the next call. */
  outgoing(): readonly OutgoingMessage[] | undefined {
    return this.#sync.outgoing(this.#rounds.sent?.assembled.request);
  }

  /** Adds the reply to the last `next()`. Returns the calls that wait for a result. */
  assistant(reply: Reply<P>): Promise<readonly ToolCall[]> {
    return this.#queue.run(
      async () => await this.#acceptReply(await this.#replies.whole(requireSent(this.#rounds), reply)),
    );
  }

  /**
   * The same for a stream: each block is stored as it ends. If the stream breaks off, complete blocks stay, and the
   * stream's error is rethrown; if they can't be stored, it is the cause of the error.
   */
  assistantStream(events: AsyncIterable<StreamEvent<P>>): Promise<readonly ToolCall[]> {
    return this.#queue.run(
      async () => await this.#acceptReply(await this.#replies.stream(requireSent(this.#rounds), events)),
    );
  }

  /** Adds the result of one call. A large result goes to the store, and the model sees its beginning. */
  toolResult(id: string, content: string | readonly BlockParams[], { isError = false } = {}): Promise<void> {
    return this.#queue.run(async () => {
      const result = resultContent(content);
      const call = this.#calls.get(id);
      if (call === undefined) throw new ContextError("unknown-call", `No call with the id ${id} waits for a result.`);
      const [{ name, input }, outcome] = [call, isError ? "failed" : "done"] as const;
      const tool = this.#core.deps.tools.find((candidate) => candidate.name === name);
      const block = { type: "tool_use", id: toolUseId(id), name, input } as const;
      await this.#rounds.result({ call: block, tool, content: result, outcome, summary: "" });
      throwIfFailed(await this.#events.drain(this.#rounds.resultsIn()));
      this.#calls.delete(id);
      // Not before: what works in the background would take an open call for an interrupted one.
      if (this.#calls.size === 0) this.#rounds.ended(this.#callsInRound);
      await this.#core.view.followReceipts();
    });
  }

  /** Reports an error that the provider's client threw, or its status and body. Tells whether to call `next()` again. */
  refused(error: unknown): Promise<AfterRefusal> {
    return this.#queue.run(async () => {
      this.#parts.fork?.left();
      const { deps } = this.#core;
      const failure =
        error instanceof ContextError ? error.failure : classifyRefusal(this.#parts.provider, deps, error);
      if (failure === undefined || isCallerError(error))
        return { kind: "stop", advice: `This is not an error of the provider: ${String(error)}` };
      // The ladder simplifies the view that was sent, so the partial reply must be removed first.
      if (refusalLadder(failure).length > 0) await this.#dropBrokenReply();
      const after = await this.#events.drain(this.#rounds.refused(failure));
      await this.#core.view.followReceipts();
      if (after.kind === "failed") throw storeError(after);
      if (after.kind === "plainer") return { kind: "retry", afterMs: 0, because: failure.message };
      this.#attempts += 1;
      return decideRetry(deps, { failure, attempt: this.#attempts, tried: after.tried.length });
    });
  }

  /** Summarizes the conversation now. */
  compact(options: CompactOptions = {}): Promise<CompactOutcome> {
    const { signal } = options;
    return this.#queue.run(async () => {
      if (this.#calls.size > 0) return { kind: "failed", reason: "open-calls", message: openCallsText };
      await this.#dropBrokenReply();
      const compacted = await this.#events.drain(this.#core.compaction.compact(options, this.#until(signal)));
      await this.#core.view.followReceipts();
      return compacted;
    }, signal);
  }

  /** Undoes an edit of the view; by default the newest one. */
  undo(edit?: string): Promise<UndoOutcome> {
    return this.#queue.run(async () => {
      await this.#dropBrokenReply();
      const undone = await this.#core.view.undo(edit === undefined ? {} : { target: entryId(edit) });
      await this.#core.view.followReceipts();
      return undone;
    });
  }

  /** Keeps this entry in the view, unchanged, from now on. */
  pin(entry: string): Promise<void> {
    return this.#queue.run(async () => {
      if (!(await isOnPath(this.#core.session, entryId(entry))))
        throw new ContextError("unknown-entry", `No entry of this session has the id ${entry}.`);
      await this.#dropBrokenReply();
      const edited = await this.#core.view.pin(entryId(entry));
      if (edited.kind === "failed") throw storeError(edited);
      await this.#core.view.followReceipts();
    });
  }

  /**
   * Searches the whole session, including what is no longer in the view. Best hits first. With `scope: "project"` all
   * sessions of the store, if it has an index (files and memory have one); hits name their session.
   */
  async recall(query: string, options: RecallScope & Omit<RecallOptions, "query"> = {}): Promise<readonly SearchHit[]> {
    const searched = await this.#core.view.recall({ query, ...options });
    if (searched?.kind === "unavailable")
      throw new ContextError("store", `The session can't be searched: ${searched.why}.`);
    return searched?.kind === "found" ? searched.hits : [];
  }

  /** The full original behind an id of a hit, a receipt or a call. */
  async expand(id: string): Promise<ExpandOutcome> {
    // A fork's own log has only what its parent showed.
    const inherited = await this.#parts.fork?.expand(id);
    if (inherited !== undefined && inherited.kind !== "not-found") return inherited;
    const found = await this.#core.view.expand(id);
    if (found === undefined) throw new ContextError("store", "The transcript can't be read.");
    return found;
  }

  /**
   * A conversation of its own that begins with the bytes that this one would send now, which it reads from the cache. It
   * never changes this one. Calls that wait have a placeholder in it. Its costs count here too. A fork can't fork.
   */
  fork(options: ForkOptions = {}): Promise<Context<P>> {
    return this.#queue.run(async () => {
      await this.#dropBrokenReply();
      return await this.#parts.agents.fork(options);
    });
  }

  /** A conversation of its own that knows nothing of this one. Its costs count here too, as an agent's. */
  openAgent(options: AgentOptions = {}): Promise<Context<P>> {
    return this.#queue.run(() => this.#parts.agents.open(options));
  }

  /** Every edit of the view, oldest first, with what it removed, saved and cost. */
  receipts(): readonly RecordedEdit[] {
    return this.#core.view.receipts();
  }

  /** What fills the window. */
  report(): ContextReport {
    return this.#core.view.report();
  }

  /** The costs so far, according to the provider's usage. */
  costs(): CostReport {
    return this.#core.conversation.costs.toJSON();
  }

  /** These take effect with the next request. Another set of tools, system prompt or model invalidates the provider's cache. */
  setTools(tools: readonly ToolOption[]): Promise<void> {
    return this.#queue.run(() => {
      checkTools(tools);
      return this.#change({ tools: tools.map(toJsonObject) });
    });
  }

  setSystem(system: SystemOption): Promise<void> {
    return this.#queue.run(() => this.#change({ system }));
  }

  setModel(model: string): Promise<void> {
    return this.#queue.run(() => {
      checkModel(model);
      return this.#change({ model });
    });
  }

  /** Waits for running calls, then closes the session. Its forks and agents are closed first. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#queue.idle();
    this.#parts.fork?.left();
    await this.#parts.agents.close();
    await this.#core.view.close();
    await this.#core.session.close();
    this.#parts.onClosed?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #beginTurn(): Promise<void> {
    this.#attempts = 0;
    this.#calls.clear();
    this.#rounds = this.#newRounds();
    throwIfFailed(await this.#events.drain(this.#rounds.begin()));
  }

  async #prepare(signal: AbortSignal | undefined): Promise<NextRequest<P>> {
    const prepared = await this.#events.drain(this.#rounds.next(this.#until(signal), this.#sync.ending));
    if (prepared.kind !== "request") throw notPreparedError(prepared);
    await this.#parts.fork?.enter(this.#until(signal));
    if (this.#closing.signal.aborted) throw notPreparedError({ kind: "aborted" });
    await this.#core.view.followReceipts();
    return toNextRequest(this.#parts.provider, prepared);
  }

  async #change(change: PrefixChange): Promise<void> {
    await this.#dropBrokenReply();
    await this.#parts.change(change);
    this.#rounds = this.#newRounds(this.#rounds);
  }

  async #sayContext(draft: Draft): Promise<void> {
    if (this.#replies.isBroken) throwIfFailed(await this.#core.conversation.line.settle());
    this.#replies.keep();
    throwIfFailed(await this.#rounds.say(draft));
  }

  #newRounds(after?: Rounds): Rounds {
    return new Rounds(this.#core, { signal: this.#closing.signal, after });
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  async #acceptReply({ calls: replyCalls, stopReason }: CompleteReply): Promise<readonly ToolCall[]> {
    const requestTokens = this.#rounds.sent?.assembled.tokens ?? 0;
    this.#attempts = 0;
    const calls = replyCalls.map(toToolCall);
    this.#calls.clear();
    for (const call of calls) this.#calls.set(call.id, call);
    const cut = calls.length > 0 ? undefined : cutReplyEnd(stopReason);
    if (cut === undefined) this.#rounds.replied();
    else await this.#events.drain(this.#rounds.cut({ ...cut, requestTokens }));
    this.#callsInRound = calls.length;
    if (calls.length > 0) return calls;
    this.#rounds.ended(0);
    throwIfFailed(await this.#core.conversation.line.endTurn());
    return calls;
  }

  /** Before the view or the prefix changes: a reply that broke off belongs to a request that will not be sent again. */
  async #dropBrokenReply(): Promise<void> {
    if (!this.#replies.isBroken) return;
    await this.#replies.leave();
    this.#rounds.withdraw();
  }
}
