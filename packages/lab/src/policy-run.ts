import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import { resolveOffloadLimits, unlimited } from "palimpsest/internal/layers/1-offload/plan";
import type { Policy } from "palimpsest/internal/layers/policy";
import type { ConversationContext } from "palimpsest/internal/context/conversation";
import { ConversationForks } from "palimpsest/internal/loop/conversation-forks";
import type { AgentDeps } from "palimpsest/internal/context/deps";
import type { AssembledRequest } from "palimpsest/internal/context/request/assemble-request";
import { Rounds } from "palimpsest/internal/context/rounds";
import type { CompactionSetup } from "palimpsest/internal/context/compact/compaction-setup";
import { SessionFactBook } from "palimpsest/internal/context/compact/session-fact-book";
import { retryLimitsDefault } from "palimpsest/internal/model/limits";
import { noHooks } from "palimpsest/internal/ports/hooks";
import { createWorkingState } from "palimpsest/internal/ports/working-state";
import type { Message } from "palimpsest/internal/schema/block";
import { type EntryId, type Millis, millis } from "palimpsest/internal/schema/brand";
import type { Usage } from "palimpsest/internal/schema/usage";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { resolveSettings } from "palimpsest/internal/settings/resolve-settings";
import { type ResolvedSettings, resolveForPolicy } from "palimpsest/internal/settings/resolved-settings";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import { AbsentModel } from "./absent-model.ts";
import { ExtractedSummaries, standInSummaries, type Summaries, type Summarise } from "./compaction/summaries.ts";
import { GoneResults } from "./gone-results.ts";
import { notesTokensStandIn, transcriptPathStandIn } from "./limits.ts";
import { Meter, type ReplayCache } from "./replay-cache.ts";
import { findNotesRule, ReplayedNotes } from "./compaction/replayed-notes.ts";
import type { CompactionName, RefetchName } from "./replay-outcome.ts";
import { RecordedSession, toUsage, createRecordedConversation } from "./recorded-session.ts";
import type { RecordedRound } from "./recording/recording.ts";
import type { ReplayWorld } from "./replay-world.ts";
import { SpendTracker } from "./spend-tracker.ts";
import type { SentRequest } from "./trace-line.ts";

interface PolicyRunInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  /** `chosen`: the policy chooses for each request. */
  readonly lifetime: Lifetime | "chosen";
  readonly thresholds: Thresholds;
  readonly cache: ReplayCache;
  readonly refetch: RefetchName;
  readonly compaction: CompactionName;
  /** With `extract`: writes the summaries instead of the engine. */
  readonly summarise?: Summarise | undefined;
  /** Called after each compaction, before anything is sent. */
  readonly onCompacted?: ((compacted: CompactedView) => void) | undefined;
  readonly onRequest?: ((sent: SentRequest) => void) | undefined;
  /** Called for each event of the engine with the index of the next round. */
  readonly onEvent?: ((event: LoopEvent, round: number) => void) | undefined;
  /** Called after each reply without a call, and after the last reply. */
  readonly onTurnEnd?: ((turn: ReplayedTurn) => Promise<void>) | undefined;
}

export interface ReplayedTurn {
  /** The index of its last round. */
  readonly round: number;
  /** What one request of a fork with a directive of this size would cost now, without its output. Nothing is charged. */
  readonly quoteFork: (directiveTokens: number) => Promise<number>;
}

export interface CompactedView {
  /** The index of the round whose request follows. */
  readonly round: number;
  readonly messages: readonly Message[];
  /** Entries that stay in the view unchanged. */
  readonly kept: readonly EntryId[];
  /** The size of the context. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/**
 * Runs one policy on one recording, with the engine's own conversation and all messages as they were recorded. Each request
 * passes the simulator's rules and its cache. The replies come from the recording; stand-ins replace summaries and notes.
 */
export class PolicyRun {
  readonly #input: PolicyRunInput;
  readonly #recorded: RecordedSession;
  readonly #meter: Meter;
  readonly #gone: GoneResults;
  readonly #summaries: Summaries;
  readonly #model: AbsentModel;
  readonly #notes: ReplayedNotes | undefined;
  readonly #context: ConversationContext;
  readonly #settings: ResolvedSettings;
  #rounds: Rounds;
  #now: Millis = millis(0);
  #round = 0;
  /** The number of calls in the newest reply. */
  #lastCalls = 0;
  readonly spending: SpendTracker;
  readonly contextByRound: number[] = [];
  readonly refusals: string[] = [];
  edits = 0;
  compactions = 0;
  /** The part of the spending that all extractions of notes cost. */
  notesCost = 0;
  failedAt: number | undefined;

  constructor(input: PolicyRunInput) {
    const { world, policy, thresholds, cache, onRequest } = input;
    const { tokensOf, ids, rates, recording } = world;
    const { headerTokens } = recording;
    this.#input = input;
    this.#recorded = new RecordedSession({
      world,
      policy,
      thinking: world.thinkingUnder(policy),
      now: () => this.#now,
    });
    const { session, line } = this.#recorded;
    this.#meter = new Meter({ headerTokens, sharedTokens: recording.cache?.sharedTokens ?? 0, tokensOf, ids });
    this.#gone = new GoneResults({ fold: session.fold, world });
    this.spending = new SpendTracker({ rates, headerTokens });
    const settings = resolveForPolicy(world.policyFor(policy), resolveSettings([]), { model: world.model.id });
    this.#settings = { ...settings, thresholds };
    const facts = new SessionFactBook(this.#recorded.deps, session);
    this.#summaries =
      input.compaction === "extract" ? new ExtractedSummaries({ ...input, session, facts }) : standInSummaries(input);
    const rule = findNotesRule(policy);
    this.#notes =
      rule === undefined
        ? undefined
        : new ReplayedNotes({
            rule,
            world,
            summaries: this.#summaries,
            items: () => session.fold.projection.items,
            contextTokens: () => line.usedTokens,
            ask: (directive) => this.#takeNotes(directive),
          });
    const conversation = createRecordedConversation({
      world,
      recorded: this.#recorded,
      lifetime: input.lifetime,
      refetch: input.refetch,
      compacting: this.#compactionSetup(facts),
    });
    this.#model = new AbsentModel({
      world,
      system: conversation.baseline.systemBlocks,
      meter: this.#meter,
      cache,
      spending: this.spending,
      windowTokens: thresholds.window,
      onRequest,
      answer: (kind) => this.#answer(kind),
    });
    this.#context = { deps: this.#agentDeps(), conversation };
    this.#rounds = new Rounds(this.#context, { signal: neverAborted });
  }

  get notesTaken(): number {
    return this.#notes?.taken ?? 0;
  }

  get refetched(): number {
    return this.#gone.fetched;
  }

  async run(): Promise<void> {
    for (const round of this.#input.world.recording.rounds) {
      this.#now = round.at;
      this.#model.round = round;
      this.#updateCache(round);
      await this.#arrive(round);
      const request = await this.#next();
      if (request === undefined) {
        this.failedAt = this.#round;
        return;
      }
      await this.#reply(round, this.#send(request, round));
      if (this.#lastCalls === 0 || round === this.#input.world.recording.rounds.at(-1)) await this.#endTurn();
      this.#round += 1;
    }
  }

  async #endTurn(): Promise<void> {
    const quoteFork = (directiveTokens: number): Promise<number> => this.#quoteFork(directiveTokens);
    await this.#input.onTurnEnd?.({ round: this.#round, quoteFork });
  }

  /** A fork changes neither the cache nor the conversation, so it can be tried out. */
  async #quoteFork(directiveTokens: number): Promise<number> {
    const { world } = this.#input;
    const { rates, recording } = world;
    const quote = new SpendTracker({ rates, headerTokens: recording.headerTokens });
    const sizes = { alone: directiveTokens, within: directiveTokens, behindBoundary: directiveTokens };
    const task = { directive: world.standIn(sizes), source: "extraction", roundsMax: 1 } as const;
    this.#model.quote = quote;
    await new ConversationForks(this.#context).run({ ...task, cacheWrite: "skip", permit: denyAll }, neverAborted);
    this.#model.quote = undefined;
    return quote.inputCost;
  }

  #updateCache({ at, cacheEvents = [] }: RecordedRound): void {
    const { cache, lifetime } = this.#input;
    const prompt = this.#meter.sharedPrompt(lifetime === "1h" ? "1h" : "5m");
    if (cacheEvents.includes("header-shared")) cache.share(prompt, at);
  }

  async #arrive({ before, opens }: RecordedRound): Promise<void> {
    this.#append(before);
    if (opens === "turn") this.#rounds = new Rounds(this.#context, { signal: neverAborted });
    await this.#drain(this.#rounds.begin());
    if (this.#lastCalls > 0) await this.#endRound();
  }

  /** The newest reply and its results are in the view now, so notes may be due. */
  async #endRound(): Promise<void> {
    this.#rounds.ended(this.#lastCalls);
    await this.#notes?.settle();
  }

  /** Undefined if no request fits the window. */
  async #next(): Promise<AssembledRequest | undefined> {
    for (;;) {
      const prepared = await this.#drain(this.#rounds.next());
      if (prepared.kind === "request" && prepared.tokens < this.#input.thresholds.window) return prepared;
      if (prepared.kind !== "request" && prepared.kind !== "over-limit") return undefined;
      // A policy that never compacts can't do anything about a full window.
      if (this.#input.policy.compact === undefined) return undefined;
      // A request that the provider would refuse is not sent: the engine is told at once that it is too long.
      const after = await this.#drain(this.#rounds.refused(tooLong));
      if (after.kind !== "plainer") return undefined;
    }
  }

  #send({ breakpoints, messages: sent, marks, request, tokens }: AssembledRequest, round: RecordedRound): UsageSplit {
    const { world, thresholds, cache, onRequest } = this.#input;
    const { written, cache: cacheModel, line } = this.#context.conversation;
    // The messages as recorded, because the engine leaves out images that are redacted in the recording.
    const next = line.next();
    const messages = next.kind === "sendable" ? next.messages : sent;
    const prompt = this.#meter.prompt(messages, breakpoints);
    const refusal = world.check.refusal({
      messages,
      chainAt: (message) => this.#meter.chainAt(message),
      breakpoints,
      outputTokensMax: request.maxTokens,
    });
    if (refusal !== undefined || prompt.tokens > thresholds.window) this.refusals.push(refusal ?? "too long");
    const usage = cache.send(prompt, round.at);
    onRequest?.({ kind: "round", round, prompt, usage });
    this.spending.request(usage);
    this.contextByRound.push(prompt.tokens);
    written.recordWrites(sent, breakpoints);
    if (marks !== undefined) cacheModel?.began(marks, { at: round.at, tokens });
    return usage;
  }

  async #reply({ reply, at, outputTokens }: RecordedRound, usage: UsageSplit): Promise<void> {
    this.#append(reply, toUsage(usage, outputTokens));
    this.#context.conversation.cache?.replied(at);
    this.#rounds.replied();
    this.#chargeRefetches();
    this.#lastCalls = reply.reduce(
      (sum, { blocks }) => sum + blocks.filter(({ type }) => type === "tool_use").length,
      0,
    );
    if (this.#lastCalls === 0) await this.#endRound();
  }

  #append(entries: RecordedRound["before"], usage?: Usage): void {
    this.#recorded.say(entries, { at: this.#now, ...(usage === undefined ? {} : { usage }) });
    for (const entry of entries) {
      this.#summaries.onEntry(entry);
      this.#gone.onEntry(entry);
    }
  }

  /** Charges for results that the reply quotes although they are no longer shown: each is fetched again once. */
  #chargeRefetches(): void {
    const { world, refetch } = this.#input;
    if (refetch === "free") return;
    const contextTokens = this.contextByRound.at(-1) ?? 0;
    const { write } = world.rates[this.#context.conversation.cache?.lifetime ?? "5m"];
    for (const tokens of this.#gone.fetch(world.neededIn(this.#round)))
      this.spending.refetch({ tokens, contextTokens, write });
  }

  async #answer(kind: "compaction" | "notes"): Promise<{ readonly text: string; readonly outputTokens: number }> {
    if (kind === "notes") return { text: "Noted.", outputTokens: notesTokensStandIn.edit };
    const { text, outputTokens } = await this.#summaries.write();
    return { text: `<summary>\n${text}\n</summary>`, outputTokens };
  }

  async #takeNotes(directive: string): Promise<void> {
    const before = this.spending.cost;
    this.#model.requestKind = "notes";
    await new ConversationForks(this.#context).run(
      { directive, source: "notes", roundsMax: 1, cacheWrite: "skip", permit: denyAll },
      neverAborted,
    );
    this.#model.requestKind = "compaction";
    this.notesCost += this.spending.cost - before;
  }

  #recordCompaction(): void {
    const { session, line } = this.#recorded;
    const { items, boundaries } = session.fold.projection;
    this.compactions += 1;
    this.#summaries.onCompacted();
    const edit = boundaries.at(-1)?.edit;
    const next = line.next();
    const summaryAt = items.find(({ summary }) => summary === true)?.at ?? 0;
    this.#input.onCompacted?.({
      round: this.#round,
      messages: next.kind === "sendable" ? next.messages : [],
      kept: items.filter(({ at }) => at < summaryAt).map(({ entry }) => entry),
      tokensBefore: edit?.type === "boundary" ? (edit.metadata.preTokens ?? 0) : 0,
      tokensAfter: line.usedTokens,
    });
  }

  #compactionSetup(facts: SessionFactBook): CompactionSetup {
    return {
      session: this.#recorded.session,
      facts,
      fork: {
        model: this.#input.world.model.id,
        run: (task, signal) => new ConversationForks(this.#context).run(task, signal),
      },
      notes: this.#notes,
      recallTool: undefined,
      summaryOptions: () => Promise.resolve({}),
      mode: "attended",
      workingState: createWorkingState(this.#summaries.workingState),
      onCompacted: () => Promise.resolve(),
    };
  }

  #agentDeps(): AgentDeps {
    const { offload } = this.#input.policy;
    const limits = offload === undefined ? unlimited : resolveOffloadLimits(offload);
    return {
      model: this.#model,
      tools: [],
      permit: denyAll,
      hooks: noHooks,
      now: () => this.#now,
      blobs: this.#recorded.deps.blobs,
      hash: (text) => text,
      cwd,
      toolsForFork: () => ({ tools: [], cwd }),
      wait: untilAborted,
      random: () => 0,
      settings: () => this.#settings,
      offloadLimits: () => limits,
      retries: retryLimitsDefault,
      place: () => ({ session: this.#recorded.session.id, transcriptPath: transcriptPathStandIn, cwd: "/" }),
      learn: () => Promise.resolve(),
    };
  }

  async #drain<Result>(steps: AsyncGenerator<LoopEvent, Result>): Promise<Result> {
    for (;;) {
      const step = await steps.next();
      if (step.done === true) return step.value;
      this.#gone.onEvent(step.value);
      this.#input.onEvent?.(step.value, this.#round);
      if (step.value.kind === "cleared") this.edits += 1;
      if (step.value.kind === "compacted") this.#recordCompaction();
    }
  }
}

const tooLong = { why: "too-long", retry: "never", message: "The prompt is too long." } as const;

const cwd = (): string => "/";

/** A replay is never stopped. */
const neverAborted = new AbortController().signal;

const denyAll: AgentDeps["permit"] = () => Promise.resolve({ kind: "denied", reason: "Calls are not run here." });

/** Never resolves by itself, because time passes only as it was recorded. */
const untilAborted: AgentDeps["wait"] = (_, signal) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
};
