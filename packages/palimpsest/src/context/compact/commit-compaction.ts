import { waitingTokensMax } from "../../layers/4-compact/compaction-budgets.ts";
import { registerRestored } from "../../layers/4-compact/run-restore.ts";
import { ratesForModel } from "../../cache/cache-rates.ts";
import type { HookPayload } from "../../ports/hooks.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { plural } from "../../schema/format-count.ts";
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
  /** A person's version of the summary. */
  readonly edited?: { readonly summary: string } | undefined;
}

/**
 * Writes a proposal's boundary: what was said since it was made stays behind it, once and in order, and the working state
 * is that of now. Then whatever referred to the old context begins anew, for this conversation alone.
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
    // How an automatic one ends is told by whoever proposed it too.
    if (trigger === "manual") yield closingEvent(deps, { ...installed, compacting, trigger });
    return installed;
  }
  const { draft, entries, receipt } = installed;
  registerRestored(conversation.files, {
    restoration: draft.restoration,
    entries: entries.slice(2),
    isKept: draft.isKept,
  });
  conversation.breaks.expect("compaction");
  // It would stand for what is covered now.
  await compacting.preparation?.cancel();
  await recordSummaryResult(session, proposal);
  const { ask, path, calls, instead } = proposal;
  const { tokensBefore, tokensAfter, audit } = draft;
  if (draft.pinsWarning !== undefined) yield { kind: "warning", code: "pins", message: draft.pinsWarning };
  const cut = requestCutText(draft);
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
  message: `The log no longer holds ${messages} ${plural(messages, "message")} of the session: no ledger can quote them.`,
});

type FailedCommit = Extract<CommitOutcome, { kind: "failed" }>;

interface InstalledBoundary extends Pick<Extract<CommitOutcome, { kind: "committed" }>, "entries" | "receipt"> {
  readonly kind: "installed";
  readonly draft: BoundaryDraft;
}

/** What is said while it is drafted belongs behind the boundary: then it is drafted again, with that in it. */
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
    `The conversation went on each time it was to be compacted, ${commitTriesMax} times.`,
  );
}

/** In tokens of uncached input; 0 where the model has no known price. */
function costInTokens(conversation: Conversation, calls: Proposal["calls"]): number {
  const price = conversation.known?.prices.input ?? 0;
  return price === 0 ? 0 : Math.round(callsCost(conversation, calls) / (price * 1000));
}

/** One line for a person whose newest message is too long to stay as it is. */
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
  /** Where the path ended when it was decided what stays. */
  readonly leaf: EntryId | null;
  /** Only what the log says may be passed on. */
  readonly facts: "log" | "memory";
}

async function redraft(deps: CompactionDeps, input: CommitInput): Promise<BoundaryRedraft | FailedCommit> {
  const { conversation, compacting, proposal, edited } = input;
  const { ask } = proposal;
  const { leaf } = compacting.session;
  const numbers = deps.numbers();
  const scoped = computeScope(compacting.session.fold, {
    part: ask.part,
    waitingTokensMax: waitingTokensMax(numbers.thresholds),
    count: compacting.session.count,
    until: proposal.leaf,
    coversUntil: proposal.coversUntil,
  });
  if (scoped.kind !== "scope")
    return commitFailure(
      "nothing_to_compact",
      "The conversation is another now: what was to be summarised is gone from it.",
    );
  const known = await loadFacts(compacting, ask);
  if (known.kind === "failed") return commitFailure(known.reason, known.message);
  const { facts } = known;
  const ground = createCompactionContext({ conversation, compacting, numbers, ask, scope: scoped.scope, facts });
  const made =
    edited === undefined ? undefined : checkUserSummary(ground, { summary: edited.summary, own: ownText(proposal) });
  if (made?.kind === "failed") return commitFailure(made.reason, made.message);
  const { tookMillis, calls, instead, unseenRounds } = proposal;
  const draft = await draftBoundary(deps, ground, {
    summary: made?.summary ?? proposal.summary,
    path: made?.path ?? proposal.path,
    calls,
    changes: made?.changes ?? proposal.changes,
    instead,
    ...(made === undefined ? { unseenRounds } : {}),
    server: made === undefined ? proposal.server : undefined,
    durationMillis: tookMillis,
  });
  const refusal = whyNotSmaller(ground, draft);
  if (refusal !== undefined) return commitFailure("still_over", refusal);
  return { kind: "draft", draft, leaf, facts: known.from };
}

interface AnnounceInput extends Omit<CommitInput, "edited"> {
  readonly draft: BoundaryDraft;
  readonly boundary: EntryId | undefined;
  readonly receipt: JsonObject;
}

/** The session begins anew for hooks and instructions; what they add is said to the model behind everything else. */
async function* announceCompaction(
  deps: CompactionDeps,
  { compacting, conversation, draft, proposal, boundary, receipt }: AnnounceInput,
): AsyncGenerator<LoopEvent> {
  const { trigger } = proposal.ask;
  const moments: readonly HookPayload[] = [
    { name: "SessionStart", source: "compact", model: conversation.baseline.model },
    { name: "PostCompact", trigger, summary: draft.input.summary, receipt },
  ];
  for (const moment of moments) {
    const outcome = await deps.hooks.fire({ ...deps.place(), ...moment }, new AbortController().signal);
    for (const message of [...outcome.messages, ...outcome.warnings]) yield { kind: "warning", code: "hook", message };
    if (outcome.context.length > 0)
      await compacting.session.append(...outcome.context.map((text) => contextDraft(text, boundary)));
  }
  // Lists of sessions read both ends of a log: behind a boundary the title is near its end again.
  const title = sessionTitle(compacting.session);
  if (title !== undefined) await compacting.session.append(titleDraft(title));
  await compacting.onCompacted();
}

/**
 * Without its lines: those can be had again, and a hook's input has a limit. The sizes are those of the whole context, as
 * the event and the meter have them; a receipt's own are sums of what the view shows.
 */
function hookReceipt(
  { cause, price }: BoundaryDraft["receipt"],
  { tokensBefore, tokensAfter }: Pick<BoundaryDraft, "tokensBefore" | "tokensAfter">,
): JsonObject {
  return { cause, tokensBefore, tokensAfter, price: { ...price } };
}

/** The summary is not wanted; what it cost is written down. */
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
