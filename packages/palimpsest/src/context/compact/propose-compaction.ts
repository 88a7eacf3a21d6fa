import type { SummaryRule } from "../../layers/policy.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { waitingTokensMax } from "../../layers/4-compact/compaction-budgets.ts";
import { summarise, type SummariseOutcome } from "../../layers/4-compact/run-summarise.ts";
import { type EntryId, type Millis, tokens } from "../../schema/brand.ts";
import type { CompactionCall } from "../../schema/compaction-cause.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { measureReach } from "../../transcript/first-messages.ts";
import { Channel } from "../channel.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps } from "../deps.ts";
import { draftBoundary, type DraftInput, type CompactionContext, createCompactionContext } from "./boundary-draft.ts";
import { toBreakOffFailure, closingEvent } from "./record-failure.ts";
import type { FinalAppender } from "../../session/session.ts";
import type { CompactionSetup } from "./compaction-setup.ts";
import { loadFacts } from "./load-facts.ts";
import {
  type NotesSummaryOutcome,
  summariseFromNotes,
  notesNotUsedText,
  overThresholdText,
  analysisFor,
  extractFromFacts,
  gateInput,
  checkUserSummary,
  type SummaryOutcome,
  mayBeShorter,
  mayExtract,
  messagesToSummarise,
  buildPrompt,
  checkServerSummary,
} from "./summary-outcome.ts";
import { CompactionProgress } from "./compaction-progress.ts";
import { failingTriesMax } from "./limits.ts";
import { plainSummariser } from "./plain-summariser.ts";
import { previewCompaction, whyNotSmaller } from "./preview-compaction.ts";
import {
  type CompactionProblem,
  type CompactionRequest,
  type FailedProposal,
  type Proposal,
  proposalFailure,
  type ProposeOutcome,
} from "./proposal.ts";
import { computeScope } from "./scope.ts";
import { mayAskServer, askServerSummary } from "./server-call.ts";
import { bookCalls, callsCost } from "../past-costs.ts";
import { countFailures, breakerState } from "./breaker-state.ts";

interface ProposeInput {
  readonly conversation: Conversation;
  readonly compacting: CompactionSetup;
  readonly ask: CompactionRequest;
  readonly signal: AbortSignal;
  /** Where the cost of an unused summary is booked; by default the session. */
  readonly log?: FinalAppender;
}

/**
 * Makes a summary of a conversation, with everything that its commit would write. Nothing is in the log until then.
 *
 *   requested ──a hook blocks, or there is nothing to compact──▶ failed
 *   requested ──the user's own text──▶ gate
 *   requested ──there are usable notes──▶ gate: no model
 *   requested ──the provider's own summary is switched on──▶ gate
 *   requested ──a model may be called──▶ fork ──fails or is bad──▶ plain call ──too long──▶ shorter, a few times
 *   gate ──passed──▶ proposed: audited and repaired, with ledger and working state
 *   requested ──the provider refuses every request──▶ extractive
 *   every try failed, and the user waits or no request fits any more ──▶ extractive: no model, never fails
 *   proposed ──the view would not become smaller, and a model wrote it──▶ extractive ──still not smaller──▶ failed
 */
export async function* proposeCompaction(
  deps: CompactionDeps,
  input: ProposeInput,
): AsyncGenerator<LoopEvent, ProposeOutcome> {
  const { compacting, ask, log = compacting.session } = input;
  const { trigger } = ask;
  const stopped = new AbortController();
  const signal = AbortSignal.any([input.signal, stopped.signal]);
  const events = new Channel<LoopEvent>();
  const outcome = new CompactionRun(deps, { ...input, signal, events }).run().finally(() => events.close());
  let isTaken = false;
  try {
    yield* events;
    const proposed = await outcome;
    // The caller of an automatic compaction reports its end.
    if (proposed.kind === "failed" && trigger === "manual")
      yield closingEvent(deps, { ...proposed, compacting, trigger });
    isTaken = true;
    return proposed;
  } finally {
    // A caller that stops iterating wants no summary; its cost is booked.
    stopped.abort();
    const unused = isTaken ? undefined : await outcome;
    if (unused?.kind === "proposed") await bookCalls(log, { calls: unused.proposal.calls, trigger });
  }
}

interface CompactionRunInput extends ProposeInput {
  readonly events: Channel<LoopEvent>;
}

class CompactionRun {
  readonly #deps: CompactionDeps;
  readonly #parts: CompactionRunInput;
  readonly #startedAt: Millis;
  readonly #progress: CompactionProgress;
  /** Calls that were answered so far. */
  #paid: readonly CompactionCall[] = [];

  constructor(deps: CompactionDeps, parts: CompactionRunInput) {
    this.#deps = deps;
    this.#parts = parts;
    this.#startedAt = deps.now();
    this.#progress = new CompactionProgress(deps, (event) => this.#put(event));
  }

  /** Must not reject: whatever fails, the view is unchanged, and paid calls are booked. */
  async run(): Promise<ProposeOutcome> {
    const done = new AbortController();
    const alive = this.#progress.keepAlive(done.signal).catch(() => undefined);
    try {
      return await this.#propose();
    } catch (error) {
      return await this.#failUnused(toBreakOffFailure(error));
    } finally {
      done.abort();
      await alive;
    }
  }

  async #propose(): Promise<ProposeOutcome> {
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
    const settings = this.#deps.settings();
    const { leaf } = conversation.line;
    if (trigger === "manual" && !settings.switches["compact.manual"].value)
      return proposalFailure("switched_off", "Compaction by hand is switched off: compact.manual.");
    const scoped = computeScope(compacting.session.fold, {
      part: ask.part,
      waitingTokensMax: waitingTokensMax(settings.thresholds, conversation.line.fixedTokens),
      count: compacting.session.count,
    });
    if (scoped.kind === "nothing") return proposalFailure("nothing_to_compact", "There is nothing to compact yet.");
    if (scoped.kind === "unknown-entry")
      return proposalFailure("nothing_to_compact", `No message of the view has the id ${scoped.entry}.`);
    // The conversation may continue meanwhile: later messages are not summarised.
    const scope = {
      ...(scoped.scope.messagesMax === undefined ? measureReach(conversation.line.snapshot()) : {}),
      ...scoped.scope,
    };
    const hooked = await this.#runHooks();
    if (hooked.kind === "failed") return hooked;
    if (signal.aborted) return proposalFailure("aborted", abortedText);
    const known = await loadFacts(compacting, ask);
    if (known.kind === "failed") return proposalFailure(known.reason, known.message);
    const { facts, because: unread } = known;
    if (unread !== undefined) this.#put({ kind: "warning", code: "compaction-facts", message: unread });
    const input = { conversation, compacting, settings, ask, facts };
    const fromNotes = await this.#proposeFromNotes(input, hooked.instructions);
    if (fromNotes.kind !== "passed-over") return fromNotes;
    const context = createCompactionContext({ ...input, scope });
    const made = await this.#summarise(context, hooked.instructions);
    if (made.kind === "failed") return await this.#failUnused(made);
    const changes = fromNotes.because === undefined ? made.changes : [...made.changes, fromNotes.because];
    return await this.#makeProposal(context, { made: { ...made, changes }, leaf });
  }

  /** Unusable notes are passed over: the summary is made in the usual way, and the proposal says why. */
  async #proposeFromNotes(
    input: Omit<DraftInput, "scope">,
    instructions: readonly string[],
  ): Promise<ProposeOutcome | NotesPassedOver> {
    const { signal } = this.#parts;
    const noted = await summariseFromNotes({ ...input, instructions, signal });
    if (signal.aborted) return proposalFailure("aborted", abortedText);
    if (noted.kind === "passed-over") return noted;
    const proposed = await this.#makeProposal(noted.context, noted);
    if (proposed.kind === "failed")
      return proposed.reason === "aborted"
        ? proposed
        : { kind: "passed-over", because: notesNotUsedText(proposed.message) };
    const because = overThresholdText(proposed.proposal, noted.context);
    return because === undefined ? proposed : { kind: "passed-over", because };
  }

  /** Books the paid calls of a summary that is not used. */
  async #failUnused({ reason, message }: CompactionProblem): Promise<FailedProposal> {
    const { compacting, conversation, ask, log = compacting.session } = this.#parts;
    await bookCalls(log, { calls: this.#paid, trigger: ask.trigger });
    const isPriced = this.#paid.length > 0 && conversation.known !== undefined;
    return {
      ...proposalFailure(reason, message),
      ...(isPriced ? { costNanos: callsCost(conversation, this.#paid) } : {}),
    };
  }

  async #runHooks(): Promise<HookInstructions | FailedProposal> {
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
      return proposalFailure("blocked", `A hook does not allow it: ${stopped.reason}`);
    return { kind: "hooked", instructions: [instructions, ...outcome.context].filter((text) => text.trim() !== "") };
  }

  async #summarise(context: CompactionContext, instructions: readonly string[]): Promise<SummaryOutcome> {
    const { ask, signal } = this.#parts;
    if (ask.summary !== undefined) return checkUserSummary(context, { summary: ask.summary, own: ask.over });
    const answer = await this.#ask(context, instructions).catch((error: unknown) => ({
      ...toBreakOffFailure(error),
      calls: this.#paid,
    }));
    if (answer.kind === "made") return answer;
    if (answer.reason === "aborted" || signal.aborted) return { ...answer, reason: "aborted" };
    if (!mayExtract(context)) return answer;
    this.#progress.enter("extract");
    const { calls, reason, message } = answer;
    return { kind: "made", ...extractFromFacts(context), calls, changes: [], instead: { reason, message } };
  }

  async #ask(context: CompactionContext, instructions: readonly string[]): Promise<SummaryOutcome> {
    const { ask, compacting, signal } = this.#parts;
    const { policy } = context.settings;
    if (ask.cause === "refused") return { ...proposalFailure("api_error", refusedText), calls: [] };
    if (compacting.summaryModel === "none") return { ...proposalFailure("switched_off", noSummariserText), calls: [] };
    if (ask.summariser === "nobody") return { ...proposalFailure("timed_out", tooLateText), calls: [] };
    if (ask.trigger === "auto") {
      const breaker = breakerState(compacting.session.fold, policy);
      if (breaker.kind !== "may-ask") return { ...proposalFailure(breaker.kind, breaker.message), calls: [] };
    }
    const server = await this.#askServer(context, instructions);
    this.#paid = server?.calls ?? [];
    if (server?.kind === "made") return server;
    const { warnings = [], ...options } = await compacting.summaryOptions();
    for (const message of warnings) this.#put({ kind: "warning", code: "compaction-wishes", message });
    const call = summaryCall(context.settings);
    const triesMax = this.#triesMax();
    const answer = await summarise(
      {
        fork: call === "plain" ? undefined : compacting.fork,
        summariser: call === "last-block" ? undefined : this.#createSummariser(context, triesMax),
      },
      {
        prompt: buildPrompt(context, { instructions, ...options }),
        messages: messagesToSummarise(context),
        forkReach: context.scope,
        forkWrite: call === "last-block" ? "write" : "skip",
        analysis: analysisFor(context.settings),
        gate: gateInput(context),
        retriesMax: policy.summary?.failures.retriesMax ?? 0,
        unusableAnswers: server === undefined || server.calls.length === 0 ? 0 : 1,
        triesMax,
        onPhase: (phase) => this.#progress.enter(phase),
        onText: (text) => this.#progress.hear(text),
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

  /** Undefined if the provider's own summary is not available or not wanted. */
  async #askServer(context: CompactionContext, instructions: readonly string[]): Promise<SummaryOutcome | undefined> {
    const { conversation, signal } = this.#parts;
    const { pivot } = context.scope;
    if (pivot !== undefined || !(await mayAskServer(this.#deps, { conversation, signal }))) return undefined;
    this.#progress.enter("server");
    const onText = (text: string): void => this.#progress.hear(text);
    const call = { conversation, instructions: instructions.join("\n\n"), reach: context.scope, signal, onText };
    return checkServerSummary(context, await askServerSummary(this.#deps, call));
  }

  /** Undefined: the usual number. */
  #triesMax(): number | undefined {
    const { ask, compacting } = this.#parts;
    return ask.trigger === "auto" && countFailures(compacting.session.fold) > 0 ? failingTriesMax : undefined;
  }

  #createSummariser({ settings }: CompactionContext, triesMax: number | undefined): ReturnType<typeof plainSummariser> {
    const { compacting, conversation } = this.#parts;
    const { baseline } = conversation;
    const { counter: count } = compacting.session.ledger;
    const summaryModel = compacting.summaryModel ?? settings.summaryModel;
    if (summaryModel !== undefined && summaryModel !== "none")
      return plainSummariser(this.#deps, { ...summaryModel, model: summaryModel.name, count, triesMax });
    return plainSummariser(this.#deps, {
      model: baseline.model,
      betas: baseline.betas,
      windowTokens: settings.thresholds.window,
      outputTokensMax: settings.outputTokensMax.tokens,
      inputTokensMax: settings.inputTokensMax?.tokens,
      count,
      triesMax,
    });
  }

  /** A fork books its own requests. */
  #book({ calls }: SummariseOutcome): void {
    const { costs } = this.#parts.conversation;
    for (const { path, model, usage } of calls)
      if (path === "stream") costs.add({ source: "compact", model, usage, headerTokens: tokens(0) });
  }

  async #makeProposal(context: CompactionContext, { made, leaf }: SummaryAtLeaf): Promise<ProposeOutcome> {
    this.#progress.enter("restore");
    const { ask, conversation, signal } = this.#parts;
    const tookMillis = this.#deps.now() - this.#startedAt;
    const written = { ...made, durationMillis: tookMillis };
    const draft = await draftBoundary(this.#deps, context, written);
    if (signal.aborted) return await this.#failUnused({ reason: "aborted", message: abortedText });
    const refusal = whyNotSmaller(context, draft);
    if (refusal !== undefined) {
      const problem = { reason: "still_over", message: refusal } as const;
      if (!mayBeShorter(context, made)) return await this.#failUnused(problem);
      this.#progress.enter("extract");
      const shorter = {
        kind: "made",
        ...extractFromFacts(context),
        calls: made.calls,
        changes: [],
        instead: problem,
      } as const;
      return await this.#makeProposal(context, { made: shorter, leaf });
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
      preview: previewCompaction(conversation, { draft, calls: made.calls }),
    };
    return { kind: "proposed", proposal };
  }

  #put(event: LoopEvent): void {
    this.#parts.events.put(event);
  }
}

interface SummaryAtLeaf {
  readonly made: Extract<SummaryOutcome, { kind: "made" }>;
  /** The last entry when it was decided what to summarise. */
  readonly leaf: EntryId | null;
}

interface HookInstructions {
  readonly kind: "hooked";
  /** The user's come first. */
  readonly instructions: readonly string[];
}

/** Another model has no cached prefix of this conversation to read. */
function summaryCall({ policy: { summary, compact }, summaryModel }: ResolvedSettings): SummaryRule["call"] {
  if (summaryModel !== undefined) return "plain";
  return summary?.call ?? (compact?.call === "plain" ? "plain" : "fork-then-plain");
}

const abortedText = "The compaction was cancelled.";
const refusedText = "The provider refuses the content that is to be summarised.";
const noSummariserText = "There is no model to write a summary.";
const tooLateText = "The summary was still being written when no request fitted any more.";

type NotesPassedOver = Extract<NotesSummaryOutcome, { kind: "passed-over" }>;
