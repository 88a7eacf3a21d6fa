import { waitingTokensMax } from "../../layers/4-compact/budgets.ts";
import { summarise, type Summarised } from "../../layers/4-compact/run-summarise.ts";
import { type EntryId, type Millis, tokens } from "../../schema/brand.ts";
import type { CompactionCall } from "../../schema/compaction.ts";
import type { CompactionPhase, LoopEvent } from "../../schema/event.ts";
import { reachOf } from "../../transcript/first-messages.ts";
import { Channel } from "../channel.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps } from "../deps.ts";
import { draftBoundary, type DraftInput, type Ground, groundOf } from "./boundary-draft.ts";
import { brokenOff } from "./broken-off.ts";
import { closingEvent } from "./closing-event.ts";
import type { LastAppends } from "../../session/session.ts";
import type { Compacting } from "./compacting.ts";
import { factsAtHand } from "./facts-at-hand.ts";
import { type FromNotes, fromNotes, notUsed, overThreshold } from "./from-notes.ts";
import { failingTriesMax, keepAliveMillis, progressChars } from "./limits.ts";
import {
  analysisFor,
  extracted,
  gateFor,
  given,
  type Made,
  mayBeShorter,
  mayExtract,
  messagesIn,
  promptOf,
  served,
} from "./made.ts";
import { plainSummariser } from "./plain-summariser.ts";
import { previewOf, whyNotSmaller } from "./preview.ts";
import type { CompactionAsk, CompactionProblem, Proposal, Proposed } from "./proposal.ts";
import { scopeOf } from "./scope.ts";
import { mayAskServer, serverSummary } from "./server-call.ts";
import { bookCalls, callsCost } from "./spent.ts";
import { failuresSoFar, standingOf } from "./standing.ts";

export interface Proposing {
  readonly conversation: Conversation;
  readonly compacting: Compacting;
  readonly ask: CompactionAsk;
  readonly signal: AbortSignal;
  /** By which it is written what was paid for and is not used; absent: the session. */
  readonly log?: LastAppends;
}

/**
 * A summary of a conversation, with everything that its commit would write. Nothing is in the log until then.
 *
 *   asked ──a hook blocks, or there is nothing to compact──▶ failed
 *   asked ──a person's own text──▶ gate
 *   asked ──there are notes that will do──▶ gate: no model
 *   asked ──the provider writes its own, where that is switched on──▶ gate
 *   asked ──a model may be asked──▶ fork ──fails or is bad──▶ plain call ──too long──▶ shorter, a few times
 *   gate ──passed──▶ proposed: audited and repaired, with ledger and working state
 *   asked ──the provider refuses every request──▶ extractive
 *   every try failed, and a person waits or nothing fits any more ──▶ extractive: no model, never fails
 *   proposed ──the view would not become smaller, and a model wrote it──▶ extractive ──nor by that──▶ failed
 */
export async function* proposeCompaction(deps: CompactionDeps, input: Proposing): AsyncGenerator<LoopEvent, Proposed> {
  const { compacting, ask, log = compacting.session } = input;
  const { trigger } = ask;
  const leave = new AbortController();
  const signal = AbortSignal.any([input.signal, leave.signal]);
  const events = new Channel<LoopEvent>();
  const outcome = new Compaction(deps, { ...input, signal, events }).run().finally(() => events.close());
  let isTaken = false;
  try {
    yield* events;
    const proposed = await outcome;
    // How an automatic one ends is told by whoever commits it too.
    if (proposed.kind === "failed" && trigger === "manual")
      yield closingEvent(deps, { ...proposed, compacting, trigger });
    isTaken = true;
    return proposed;
  } finally {
    // Who stops listening wants no summary; what it has cost is written down.
    leave.abort();
    const left = isTaken ? undefined : await outcome;
    if (left?.kind === "proposed") await bookCalls(log, { calls: left.proposal.calls, trigger });
  }
}

interface Parts extends Proposing {
  readonly events: Channel<LoopEvent>;
}

class Compaction {
  readonly #deps: CompactionDeps;
  readonly #parts: Parts;
  readonly #startedAt: Millis;
  #phase: CompactionPhase = "hooks";
  #chars = 0;
  #told = 0;
  /** Answered so far. */
  #paid: readonly CompactionCall[] = [];

  constructor(deps: CompactionDeps, parts: Parts) {
    this.#deps = deps;
    this.#parts = parts;
    this.#startedAt = deps.now();
  }

  /** Must not reject: whatever breaks, the view is as it was, and what was paid for is booked. */
  async run(): Promise<Proposed> {
    const over = new AbortController();
    const alive = this.#keepAlive(over.signal).catch(() => undefined);
    try {
      return await this.#propose();
    } catch (error) {
      return await this.#unused(brokenOff(error));
    } finally {
      over.abort();
      await alive;
    }
  }

  async #propose(): Promise<Proposed> {
    const { conversation, compacting, ask, signal } = this.#parts;
    const { trigger, cause, because } = ask;
    const { usedTokens } = conversation.line;
    this.#put({
      kind: "compaction-start",
      trigger,
      cause,
      tokens: usedTokens,
      ...(because === undefined ? {} : { because }),
    });
    const numbers = this.#deps.numbers();
    const { leaf } = conversation.line;
    if (trigger === "manual" && !numbers.switches["compact.manual"].value)
      return failed("switched_off", "Compaction by hand is switched off: compact.manual.");
    const scoped = scopeOf(compacting.session.fold, {
      part: ask.part,
      waitingTokensMax: waitingTokensMax(numbers.thresholds),
      count: compacting.session.count,
    });
    if (scoped.kind === "nothing") return failed("nothing_to_compact", "There is nothing to compact yet.");
    if (scoped.kind === "unknown-entry")
      return failed("nothing_to_compact", `No message of the view has the id ${scoped.entry}.`);
    // The conversation may go on meanwhile: what comes later is not summed up.
    const scope = {
      ...(scoped.scope.messagesMax === undefined ? reachOf(conversation.line.snapshot()) : {}),
      ...scoped.scope,
    };
    const hooked = await this.#hooks();
    if (hooked.kind === "failed") return hooked;
    if (signal.aborted) return failed("aborted", aborted);
    const known = await factsAtHand(compacting, ask);
    if (known.kind === "failed") return failed(known.reason, known.message);
    const { facts, because: unread } = known;
    if (unread !== undefined) this.#put({ kind: "warning", code: "compaction-facts", message: unread });
    const input = { conversation, compacting, numbers, ask, facts };
    const noted = await this.#noted(input, hooked.instructions);
    if (noted.kind !== "passed-over") return noted;
    const ground = groundOf({ ...input, scope });
    const made = await this.#summary(ground, hooked.instructions);
    if (made.kind === "failed") return await this.#unused(made);
    const changes = noted.because === undefined ? made.changes : [...made.changes, noted.because];
    return await this.#proposed(ground, { made: { ...made, changes }, leaf });
  }

  /** Notes that won't do are passed over: the usual way goes on, and the proposal says why. */
  async #noted(input: Omit<DraftInput, "scope">, instructions: readonly string[]): Promise<Proposed | PassedOver> {
    const { signal } = this.#parts;
    const noted = await fromNotes({ ...input, instructions, signal });
    if (signal.aborted) return failed("aborted", aborted);
    if (noted.kind === "passed-over") return noted;
    const proposed = await this.#proposed(noted.ground, noted);
    if (proposed.kind === "failed")
      return proposed.reason === "aborted" ? proposed : { kind: "passed-over", because: notUsed(proposed.message) };
    const because = overThreshold(proposed.proposal, noted.ground);
    return because === undefined ? proposed : { kind: "passed-over", because };
  }

  /** What was paid for a summary that nobody gets is in the log. */
  async #unused({ reason, message }: CompactionProblem): Promise<FailedProposal> {
    const { compacting, conversation, ask, log = compacting.session } = this.#parts;
    await bookCalls(log, { calls: this.#paid, trigger: ask.trigger });
    const isPriced = this.#paid.length > 0 && conversation.known !== undefined;
    return { ...failed(reason, message), ...(isPriced ? { costNanos: callsCost(conversation, this.#paid) } : {}) };
  }

  async #hooks(): Promise<Hooked | FailedProposal> {
    const { ask, signal } = this.#parts;
    const { trigger, instructions = "" } = ask;
    const outcome = await this.#deps.hooks.fire(
      { ...this.#deps.place(), name: "PreCompact", trigger, instructions },
      signal,
    );
    for (const message of [...outcome.messages, ...outcome.warnings])
      this.#put({ kind: "warning", code: "hook", message });
    const stopped = outcome.blocked ?? outcome.stopped;
    if (stopped !== undefined && !signal.aborted)
      return failed("blocked", `A hook does not allow it: ${stopped.reason}`);
    return { kind: "hooked", instructions: [instructions, ...outcome.context].filter((text) => text.trim() !== "") };
  }

  async #summary(ground: Ground, instructions: readonly string[]): Promise<Made> {
    const { ask, signal } = this.#parts;
    if (ask.summary !== undefined) return given(ground, { summary: ask.summary, own: ask.over });
    const asked = await this.#ask(ground, instructions).catch((error: unknown) => ({
      ...brokenOff(error),
      calls: this.#paid,
    }));
    if (asked.kind === "made") return asked;
    if (asked.reason === "aborted" || signal.aborted) return { ...asked, reason: "aborted" };
    if (!mayExtract(ground)) return asked;
    this.#enter("extract");
    const { calls, reason, message } = asked;
    return { kind: "made", ...extracted(ground), calls, changes: [], instead: { reason, message } };
  }

  async #ask(ground: Ground, instructions: readonly string[]): Promise<Made> {
    const { ask, compacting, signal } = this.#parts;
    const { policy } = ground.numbers;
    if (ask.cause === "refused") return { ...failed("api_error", refusedByProvider), calls: [] };
    if (compacting.summaryModel === "none") return { ...failed("switched_off", noSummariser), calls: [] };
    if (ask.summariser === "nobody") return { ...failed("timed_out", tooLate), calls: [] };
    if (ask.trigger === "auto") {
      const standing = standingOf(compacting.session.fold, policy);
      if (standing.kind !== "may-ask") return { ...failed(standing.kind, standing.message), calls: [] };
    }
    const server = await this.#askServer(ground, instructions);
    this.#paid = server?.calls ?? [];
    if (server?.kind === "made") return server;
    const { warnings = [], ...wishes } = await compacting.wishes();
    for (const message of warnings) this.#put({ kind: "warning", code: "compaction-wishes", message });
    const asks = policy.summary?.asks ?? (policy.compact?.call === "plain" ? "plain" : "fork-then-plain");
    const triesMax = this.#triesMax();
    const answer = await summarise(
      {
        fork: asks === "plain" ? undefined : compacting.fork,
        summariser: asks === "last-block" ? undefined : this.#summariser(ground, triesMax),
      },
      {
        prompt: promptOf(ground, { instructions, ...wishes }),
        messages: messagesIn(ground),
        forkReach: ground.scope,
        forkWrite: asks === "last-block" ? "write" : "skip",
        analysis: analysisFor(ground.numbers),
        gate: gateFor(ground),
        retriesMax: policy.summary?.failures.retriesMax ?? 0,
        unusableAnswers: server === undefined || server.calls.length === 0 ? 0 : 1,
        triesMax,
        onPhase: (phase) => this.#enter(phase),
        onText: (text) => this.#heard(text),
      },
      signal,
    );
    this.#book(answer);
    const calls = [...this.#paid, ...answer.calls];
    this.#paid = calls;
    if (answer.kind === "failed") return { ...answer, calls };
    const { text: summary, path, changes, droppedGroups } = answer;
    const unseen = droppedGroups === 0 ? {} : { unseenRounds: droppedGroups };
    return { kind: "made", summary, path, calls, changes, ...unseen };
  }

  /** Undefined where the provider is not to be asked for a summary of its own. */
  async #askServer(ground: Ground, instructions: readonly string[]): Promise<Made | undefined> {
    const { conversation, signal } = this.#parts;
    const { pivot } = ground.scope;
    if (pivot !== undefined || !(await mayAskServer(this.#deps, { conversation, signal }))) return undefined;
    this.#enter("server");
    const onText = (text: string): void => this.#heard(text);
    const asked = { conversation, instructions: instructions.join("\n\n"), reach: ground.scope, signal, onText };
    return served(ground, await serverSummary(this.#deps, asked));
  }

  /** Undefined: as many as usual. */
  #triesMax(): number | undefined {
    const { ask, compacting } = this.#parts;
    return ask.trigger === "auto" && failuresSoFar(compacting.session.fold) > 0 ? failingTriesMax : undefined;
  }

  #summariser({ numbers }: Ground, triesMax: number | undefined): ReturnType<typeof plainSummariser> {
    const { compacting, conversation } = this.#parts;
    const { baseline } = conversation;
    const { counter: count } = compacting.session.ledger;
    const { summaryModel: own } = compacting;
    if (own !== undefined && own !== "none")
      return plainSummariser(this.#deps, { ...own, model: own.name, count, triesMax });
    return plainSummariser(this.#deps, {
      model: baseline.model,
      betas: baseline.betas,
      windowTokens: numbers.thresholds.window,
      outputTokensMax: numbers.outputTokensMax.tokens,
      inputTokensMax: numbers.inputTokensMax?.tokens,
      count,
      triesMax,
    });
  }

  /** A fork books its own requests. */
  #book({ calls }: Summarised): void {
    const { costs } = this.#parts.conversation;
    for (const { path, model, usage } of calls)
      if (path === "stream") costs.add({ source: "compact", model, usage, headerTokens: tokens(0) });
  }

  async #proposed(ground: Ground, { made, leaf }: MadeAt): Promise<Proposed> {
    this.#enter("restore");
    const { ask, conversation, signal } = this.#parts;
    const tookMillis = this.#deps.now() - this.#startedAt;
    const written = { ...made, durationMillis: tookMillis };
    const draft = await draftBoundary(this.#deps, ground, written);
    if (signal.aborted) return await this.#unused({ reason: "aborted", message: aborted });
    const refusal = whyNotSmaller(ground, draft);
    if (refusal !== undefined) {
      const problem = { reason: "still_over", message: refusal } as const;
      if (!mayBeShorter(ground, made)) return await this.#unused(problem);
      this.#enter("extract");
      const shorter = { kind: "made", ...extracted(ground), calls: made.calls, changes: [], instead: problem } as const;
      return await this.#proposed(ground, { made: shorter, leaf });
    }
    const { instead, server, unseenRounds, coversUntil } = made;
    const proposal: Proposal = {
      ask,
      summary: made.summary,
      path: made.path,
      calls: made.calls,
      changes: made.changes,
      ...(coversUntil === undefined ? {} : { coversUntil }),
      ...(instead === undefined ? {} : { instead }),
      ...(server === undefined ? {} : { server }),
      ...(unseenRounds === undefined ? {} : { unseenRounds }),
      leaf,
      tookMillis,
      preview: previewOf(conversation, { draft, calls: made.calls }),
    };
    return { kind: "proposed", proposal };
  }

  #put(event: LoopEvent): void {
    this.#parts.events.put(event);
  }

  #enter(phase: CompactionPhase): void {
    this.#phase = phase;
    this.#chars = 0;
    this.#told = 0;
    this.#put({ kind: "compaction-progress", phase, chars: 0 });
  }

  #heard(text: string): void {
    this.#chars += text.length;
    if (this.#chars - this.#told < progressChars) return;
    this.#told = this.#chars;
    this.#put({ kind: "compaction-progress", phase: this.#phase, chars: this.#chars });
  }

  async #keepAlive(over: AbortSignal): Promise<void> {
    const { now, wait } = this.#deps;
    while (!over.aborted) {
      const before = now();
      await wait(keepAliveMillis, over);
      // A clock that does not go makes no time pass by waiting.
      if (over.aborted || now() - before < keepAliveMillis) return;
      this.#put({ kind: "compaction-progress", phase: this.#phase, chars: this.#chars });
    }
  }
}

interface MadeAt {
  readonly made: Extract<Made, { kind: "made" }>;
  /** The newest entry when it was decided what to summarise. */
  readonly leaf: EntryId | null;
}

interface Hooked {
  readonly kind: "hooked";
  /** The person's first. */
  readonly instructions: readonly string[];
}

const aborted = "The compaction was cancelled.";
const refusedByProvider = "The provider refuses what is to be summed up.";
const noSummariser = "No model is there to write it.";
const tooLate = "The summary was still being written when no request fitted any more.";

type PassedOver = Extract<FromNotes, { kind: "passed-over" }>;

type FailedProposal = Extract<Proposed, { kind: "failed" }>;

const failed = (reason: CompactionProblem["reason"], message: string): FailedProposal => ({
  kind: "failed",
  reason,
  message,
});
