import { waitingTokensMax } from "../../layers/4-compact/compaction-budgets.ts";
import { registerRestored } from "../../layers/4-compact/run-restore.ts";
import { ratesForModel } from "../../cache/cache-rates.ts";
import type { HookPayload } from "../../ports/hooks.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { readUsage, sumUsage } from "../../schema/usage.ts";
import { plural } from "../../text/format-count.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps } from "../deps.ts";
import { contextDraft } from "../inputs.ts";
import { appendBoundaryAt } from "../../session/append-boundary.ts";
import type { EditOutcome, PathMoved } from "../../session/session.ts";
import { sessionTitle, titleDraft } from "../../session/session-title.ts";
import { type BoundaryDraft, draftBoundary, createCompactionContext, unusedText } from "./boundary-draft.ts";
import { toBreakOffFailure, recordSummaryResult, type ClosingEvent, closingEvent } from "./record-failure.ts";
import type { CompactionSetup } from "./compaction-setup.ts";
import { loadFacts } from "./load-facts.ts";
import { commitTriesMax } from "./limits.ts";
import { checkUserSummary } from "./summary-outcome.ts";
import { contextChange, whyNotSmaller } from "./preview-compaction.ts";
import { type CompactionProblem, type CommitOutcome, ownText, type Proposal } from "./proposal.ts";
import { computeScope } from "./scope.ts";
import { bookCalls, callsCost } from "../past-costs.ts";

interface CommitInput {
  readonly conversation: Conversation;
  readonly compacting: CompactionSetup;
  readonly proposal: Proposal;
  /** The user's version of the summary. */
  readonly edited?: { readonly summary: string } | undefined;
}

/**
 * Writes a proposal's boundary: messages since the proposal stay after it, once and in order, and the working state is the
 * current one. Then everything of this conversation that referred to the old context is reset.
 */
export async function* commitCompaction(
  deps: CompactionDeps,
  input: CommitInput,
): AsyncGenerator<LoopEvent, CommitOutcome> {
  const { conversation, compacting, proposal } = input;
  const { session } = compacting;
  const { trigger } = proposal.ask;
  const installed = await installBoundary(deps, input).catch(toBreakOffFailure);
  if (installed.kind === "failed") {
    // The caller of an automatic compaction reports its end.
    if (trigger === "manual") yield closingEvent(deps, { ...installed, compacting, trigger });
    return installed;
  }
  const { draft, entries, receipt } = installed;
  registerRestored(conversation.files, {
    restoration: draft.restoration,
    entries: entries.slice(2),
    isKept: draft.isKept,
  });
  await draft.reload?.apply();
  conversation.breaks.expect("compaction");
  // A prepared summary would replace what is now covered.
  await compacting.preparation?.cancel();
  await recordSummaryResult(session, proposal);
  const { ask, path, calls, instead } = proposal;
  const { tokensBefore, tokensAfter, audit } = draft;
  if (draft.pinsWarning !== undefined) yield { kind: "warning", code: "pins", message: draft.pinsWarning };
  const cut = requestCutText(draft);
  const filesRestored = draft.restoration.attachments.filter(({ file }) => file !== undefined).length;
  const usage = sumUsage(calls.map((call) => readUsage({ usage: call.usage })));
  if (cut !== undefined) yield { kind: "warning", code: "request-cut", message: cut };
  if (instead !== undefined && calls.length > 0)
    yield { kind: "warning", code: "summary-unused", message: `${unusedText(instead, calls.length)}.` };
  if (compacting.facts.unreadable > 0) yield unreadableWarning(compacting.facts.unreadable);
  yield {
    kind: "compacted",
    trigger: ask.trigger,
    cause: ask.cause,
    path: input.edited === undefined ? path : "given",
    ...(ask.made === undefined ? {} : { made: ask.made }),
    tokensBefore,
    tokensAfter,
    auditScore: audit.score,
    entries,
    price: receipt.price,
    ...(conversation.known === undefined ? {} : { costNanos: callsCost(conversation, calls) }),
    ...(usage === undefined ? {} : { usage }),
    ...(filesRestored === 0 ? {} : { filesRestored }),
    ...(instead === undefined ? {} : { instead: instead.message }),
  };
  yield* announceCompaction(deps, {
    conversation,
    compacting,
    draft,
    proposal,
    boundary: entries[0],
    receipt: hookReceipt(receipt, draft),
  });
  return { kind: "committed", entries, receipt, audit, tokensBefore, tokensAfter };
}

const unreadableWarning = (messages: number): LoopEvent => ({
  kind: "warning",
  code: "unreadable",
  message: `The log no longer holds ${messages} ${plural(messages, "message")} of the session, so the summary can't quote them.`,
});

type FailedCommit = Extract<CommitOutcome, { kind: "failed" }>;

interface InstalledBoundary extends Pick<Extract<CommitOutcome, { kind: "committed" }>, "entries" | "receipt"> {
  readonly kind: "installed";
  readonly draft: BoundaryDraft;
}

/** A message that arrives during the draft belongs after the boundary: then the boundary is drafted again. */
async function installBoundary(deps: CompactionDeps, input: CommitInput): Promise<InstalledBoundary | FailedCommit> {
  for (let tries = 0; tries < commitTriesMax; tries += 1) {
    const drafted = await redraft(deps, input);
    if (drafted.kind === "failed") return drafted;
    const written = await writeBoundary(deps, { ...input, ...drafted });
    if (written.kind === "failed") return commitFailure("unwritten", written.message);
    if (written.kind === "edited") {
      const { entries, receipt } = written;
      return { kind: "installed", draft: drafted.draft, entries, receipt };
    }
  }
  return commitFailure(
    "unwritten",
    `The conversation changed during each of ${commitTriesMax} attempts to compact it.`,
  );
}

/** In tokens of uncached input; 0 if the model's price is not known. */
function costInTokens(conversation: Conversation, calls: Proposal["calls"]): number {
  const price = conversation.known?.prices.input ?? 0;
  return price === 0 ? 0 : Math.round(callsCost(conversation, calls) / (price * 1000));
}

/** One line for the user, if their newest message is too long to stay whole. */
function requestCutText({ ledger, openRequest }: BoundaryDraft): string | undefined {
  const shown = ledger.messages.find(({ entry }) => entry === openRequest)?.shown;
  if (openRequest === undefined || shown === undefined || shown === "verbatim") return undefined;
  return `The message that waits for its answer is too long to stay whole: the model sees its beginning and its end, and gets the rest by the id ${openRequest}.`;
}

interface WriteBoundaryInput extends CommitInput, Omit<BoundaryRedraft, "kind"> {}

function writeBoundary(
  deps: CompactionDeps,
  { conversation, compacting, draft, leaf, facts, proposal }: WriteBoundaryInput,
): Promise<EditOutcome | PathMoved> {
  const { removesTokens, behindTokens } = contextChange(draft);
  const isCold = conversation.cache?.prefixes.isCold(deps.now()) === true;
  return appendBoundaryAt(deps, compacting.session, {
    ...draft.input,
    ...(facts === "memory" ? { facts: undefined } : {}),
    leaf,
    rates: ratesForModel(conversation.known, conversation.cache?.lifetime ?? conversation.lifetimes.rolling),
    planned: {
      removesTokens,
      behindTokens: isCold ? 0 : behindTokens,
      cache: isCold ? "cold" : "warm",
      paidCost: costInTokens(conversation, proposal.calls),
    },
  });
}

interface BoundaryRedraft {
  readonly kind: "draft";
  readonly draft: BoundaryDraft;
  /** The end of the path when it was decided what stays. */
  readonly leaf: EntryId | null;
  /** Only facts from the log may be stored in the checkpoint. */
  readonly facts: "log" | "memory";
}

async function redraft(deps: CompactionDeps, input: CommitInput): Promise<BoundaryRedraft | FailedCommit> {
  const { conversation, compacting, proposal, edited } = input;
  const { ask } = proposal;
  const { leaf } = compacting.session;
  const settings = deps.settings();
  const scoped = computeScope(compacting.session.fold, {
    part: ask.part,
    waitingTokensMax: waitingTokensMax(settings.thresholds, conversation.line.fixedTokens),
    count: compacting.session.count,
    until: proposal.leaf,
    coversUntil: proposal.coversUntil,
  });
  if (scoped.kind !== "scope")
    return commitFailure(
      "nothing_to_compact",
      "The conversation has changed: the part to summarise is no longer in it.",
    );
  const known = await loadFacts(compacting, ask);
  if (known.kind === "failed") return commitFailure(known.reason, known.message);
  const { facts } = known;
  const context = createCompactionContext({ conversation, compacting, settings, ask, scope: scoped.scope, facts });
  const userSummary =
    edited === undefined ? undefined : checkUserSummary(context, { summary: edited.summary, own: ownText(proposal) });
  if (userSummary?.kind === "failed") return commitFailure(userSummary.reason, userSummary.message);
  const { tookMillis, calls, instead, unseenRounds } = proposal;
  const draft = await draftBoundary(deps, context, {
    summary: userSummary?.summary ?? proposal.summary,
    path: userSummary?.path ?? proposal.path,
    calls,
    changes: userSummary?.changes ?? proposal.changes,
    instead,
    unseenRounds: userSummary === undefined ? unseenRounds : undefined,
    server: userSummary === undefined ? proposal.server : undefined,
    durationMillis: tookMillis,
  });
  const refusal = whyNotSmaller(context, draft);
  if (refusal !== undefined) return commitFailure("still_over", refusal);
  return { kind: "draft", draft, leaf, facts: known.from };
}

interface AnnounceInput extends Omit<CommitInput, "edited"> {
  readonly draft: BoundaryDraft;
  readonly boundary: EntryId | undefined;
  readonly receipt: JsonObject;
}

/** For hooks and instructions the session starts again; context that they add is appended at the end. */
async function* announceCompaction(
  deps: CompactionDeps,
  { compacting, conversation, draft, proposal, boundary, receipt }: AnnounceInput,
): AsyncGenerator<LoopEvent> {
  const { trigger } = proposal.ask;
  const payloads: readonly HookPayload[] = [
    { name: "SessionStart", source: "compact", model: conversation.baseline.model },
    { name: "PostCompact", trigger, summary: draft.input.summary, receipt },
  ];
  for (const payload of payloads) {
    const outcome = await deps.hooks.fire({ ...deps.place(), ...payload }, new AbortController().signal);
    for (const message of [...outcome.messages, ...outcome.warnings]) yield { kind: "warning", code: "hook", message };
    if (outcome.context.length > 0)
      await compacting.session.append(...outcome.context.map((text) => contextDraft(text, boundary)));
  }
  // Session lists read both ends of a log: the title is repeated after a boundary so that it is near the end.
  const title = sessionTitle(compacting.session);
  if (title !== undefined) await compacting.session.append(titleDraft(title));
  await compacting.onCompacted();
}

/**
 * Omits the receipt's lines: they can be read again, and a hook's input has a limit. The sizes are those of the whole
 * context, as in the event and the meter; the receipt's own are sums over the view.
 */
function hookReceipt(
  { cause, price }: BoundaryDraft["receipt"],
  { tokensBefore, tokensAfter }: Pick<BoundaryDraft, "tokensBefore" | "tokensAfter">,
): JsonObject {
  return { cause, tokensBefore, tokensAfter, price: { ...price } };
}

/** Rejects the proposal and books its cost. */
export async function cancelCompaction(
  deps: CompactionDeps,
  { compacting, proposal }: Pick<CommitInput, "compacting" | "proposal">,
): Promise<ClosingEvent> {
  const { ask, calls } = proposal;
  const { trigger } = ask;
  await bookCalls(compacting.session, { calls, trigger });
  return closingEvent(deps, { compacting, trigger, reason: "aborted", message: "The compaction was cancelled." });
}

const commitFailure = (reason: CompactionProblem["reason"], message: string): FailedCommit => ({
  kind: "failed",
  reason,
  message,
});
