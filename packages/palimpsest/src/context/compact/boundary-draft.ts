import type { BlobsDep } from "../../ports/blobs.ts";
import { type Audit, type ComposedSummary, composeSummary } from "../../layers/4-compact/audit.ts";
import {
  computeBudgets,
  type CompactionBudgets,
  restoreBudgetsWithin,
  pinsBudget,
  reportPins,
} from "../../layers/4-compact/compaction-budgets.ts";
import { replyText } from "../../layers/4-compact/facts/fact-book.ts";
import { type SessionFacts, type TextFact, filterFacts } from "../../layers/4-compact/facts/session-facts.ts";
import { renderNote } from "../../layers/4-compact/gate/gate.ts";
import { createWholeCheck, type Restoration } from "../../layers/4-compact/plan-restoration.ts";
import { restoreState } from "../../layers/4-compact/run-restore.ts";
import { summaryMessage, besideSummary, type BesideInput } from "../../layers/4-compact/summary-message.ts";
import type { UserLedger } from "../../layers/4-compact/user-ledger.ts";
import type { SummaryRule } from "../../layers/policy.ts";
import type { WorkingStatePart } from "../../ports/working-state.ts";
import type { Block, ServerSummary } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens } from "../../schema/brand.ts";
import type { CompactionCall, CompactionPath } from "../../schema/compaction-cause.ts";
import type { BoundaryMetadata } from "../../schema/edit.ts";
import type { Receipt } from "../../schema/receipt.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import type { Item } from "../../transcript/item.ts";
import { type Survivors, survivors } from "../../transcript/projection.ts";
import type { Conversation } from "../conversation.ts";
import type { HookDeps } from "../deps.ts";
import { boundaryDrafts, type BoundaryInput } from "../../session/append-boundary.ts";
import { findLargestCount } from "../../session/counted-log.ts";
import { computeChain } from "./breaker-state.ts";
import type { CompactionSetup, Reload } from "./compaction-setup.ts";
import type { CompactionRequest, CompactionProblem } from "./proposal.ts";
import type { Scope } from "./scope.ts";
import { callsCost } from "../past-costs.ts";
import { findMarkedQuotes } from "../../layers/4-compact/gate/quote-mark.ts";
import type { ServerSummaryOutcome } from "./server-call.ts";

export interface DraftInput {
  readonly conversation: Conversation;
  readonly compacting: CompactionSetup;
  readonly settings: ResolvedSettings;
  readonly ask: CompactionRequest;
  readonly scope: Scope;
  readonly facts: SessionFacts;
}

/** A boundary before its summary is known: what stays, how long the summary may be, and how tokens are counted. */
export interface CompactionContext extends DraftInput {
  readonly stays: Survivors;
  /** Facts of the part that the summary replaces. */
  readonly partFacts: SessionFacts;
  readonly budgets: CompactionBudgets;
  /** Counts a text at the rates by which the context is counted. */
  readonly count: (text: string) => Tokens;
  /** Tokens of the header and of what stays unchanged. */
  readonly staysTokens: number;
  /** Tokens of the part that the summary replaces, at the same rates. */
  readonly coveredTokens: number;
}

export function createCompactionContext(input: DraftInput): CompactionContext {
  const { conversation, compacting, settings, scope } = input;
  const { items, pins } = compacting.session.fold.projection;
  const stays = survivors(items, pins, scopeMetadata(scope));
  // After a boundary nothing is counted yet: these rates apply until the next reply.
  const { counter: countBlock, estimate } = compacting.session.ledger;
  const staysTokens =
    conversation.line.fixedTokens + countItemTokens([...stays.front, ...stays.pinned, ...stays.kept], countBlock);
  const coveredTokens = Math.max(0, estimate - staysTokens);
  const { thresholds, policy } = settings;
  const count = (text: string): Tokens => tokens(Math.ceil(countBlock({ type: "text", text })));
  const partFacts = selectPartFacts(input, stays);
  return {
    ...input,
    stays,
    partFacts,
    staysTokens,
    coveredTokens,
    count,
    budgets: computeBudgets({ thresholds, policy, staysTokens, coveredTokens }),
  };
}

/** If the part begins in the middle, what precedes it has its own summary, or stays: only what is covered counts. */
function selectPartFacts({ facts, scope: { covered, pivot } }: DraftInput, stays: Survivors): SessionFacts {
  const shown = new Set([...stays.front, ...stays.pinned, ...stays.kept].map(({ entry }) => entry));
  const coveredIds = new Set(covered.map(({ entry }) => entry));
  const holds = (entry: EntryId): boolean => !shown.has(entry) && (pivot === undefined || coveredIds.has(entry));
  const { lastReply } = facts;
  const isInPart = lastReply !== undefined && holds(lastReply.entry);
  return filterFacts(facts, {
    holds,
    lastReply: isInPart ? lastReply : findLastReply(covered.filter(({ entry }) => holds(entry))),
  });
}

function findLastReply(items: readonly Item[]): TextFact | undefined {
  const last = items.findLast(({ role, blocks }) => role === "assistant" && replyText(blocks) !== "");
  return last === undefined ? undefined : { text: replyText(last.blocks), entry: last.entry };
}

/** A summary, how it was made and what it cost. */
interface BoundarySummary {
  readonly summary: string;
  readonly path: CompactionPath;
  readonly calls: readonly CompactionCall[];
  /** One line each, for the user: what was removed from the summary, and why notes were not used. */
  readonly changes?: readonly string[] | undefined;
  readonly unseenRounds?: number | undefined;
  readonly instead?: CompactionProblem | undefined;
  readonly durationMillis: number;
  readonly server?: ServerSummary | undefined;
}

/** Why it was compacted and, if paid calls for a summary are not used, why not. */
function becauseText(ask: CompactionContext["ask"], { instead, calls }: BoundarySummary): string | undefined {
  const unused = instead === undefined || calls.length === 0 ? [] : [unusedText(instead, calls.length)];
  const reasons = [...(ask.because === undefined ? [] : [ask.because]), ...unused];
  return reasons.length === 0 ? undefined : reasons.join(". ");
}

/** One line for the user. */
export const unusedText = ({ message }: CompactionProblem, calls: number): string =>
  `${calls === 1 ? "A call" : `${calls} calls`} for a summary ${calls === 1 ? "is" : "are"} paid for and not used: ${message} It was made without a model instead`;

/** Everything that a commit writes, and its effect on the view. */
export interface BoundaryDraft {
  readonly input: BoundaryInput;
  readonly audit: Audit;
  readonly ledger: UserLedger;
  /** The user's newest message, if it waits for an answer. */
  readonly openRequest: EntryId | undefined;
  readonly restoration: Restoration;
  readonly reload: Reload | undefined;
  readonly isKept: ReturnType<typeof createWholeCheck>;
  readonly receipt: Receipt;
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
  readonly pinsWarning: string | undefined;
}

type BoundaryDeps = BlobsDep & Pick<HookDeps, "place">;

/** Reads the current working state: the draft's is as old as the draft. */
export async function draftBoundary(
  deps: BoundaryDeps,
  context: CompactionContext,
  written: BoundarySummary,
): Promise<BoundaryDraft> {
  const { compacting, conversation, facts, ask, settings, stays, scope } = context;
  const { fold } = compacting.session;
  const staying = [...stays.front, ...stays.pinned, ...stays.kept];
  const composed = composeSummary({
    summary: written.summary,
    facts: context.partFacts,
    shown: new Set(staying.map(({ entry }) => entry)),
    budgets: context.budgets,
    rule: settings.policy.summary,
    count: context.count,
  });
  const { ledger, audit } = composed;
  const content = boundaryContent(deps, { context, written, composed });
  const contentTokens = context.count([content.summary, content.server?.beside ?? ""].join("\n"));
  const isKept = createWholeCheck({ items: staying, decisions: fold.projection.decisions });
  const restoration = await restoreWithin(deps, {
    context,
    isKept,
    roomTokens: Math.min(context.budgets.restored, context.budgets.room - contentTokens),
  });
  const reload = await compacting.reload?.({ isKept });
  const input: BoundaryInput = {
    ...content,
    trigger: ask.trigger,
    ...boundaryRange(scope),
    attachments: restoration.attachments.map(({ draft }) => draft),
    facts,
    because: becauseText(ask, written),
    figures: ask.figures,
    metadata: {
      ...boundaryMetadata(context, { written, audit }),
      ...(reload === undefined ? {} : { reloaded: reload.reloaded }),
    },
  };
  const preview = compacting.session.foresee({
    drafts: boundaryDrafts(input, { leaf: fold.path.leaf?.id }),
    cause: ask.trigger,
    nature: "summarised",
  });
  const tokensBefore = conversation.line.usedTokens;
  const tokensAfter = tokens(preview.tokens + (reload?.addedTokens ?? 0));
  const { items, pins } = fold.projection;
  const { warning } = reportPins({
    items,
    pins,
    budgetTokens: pinsBudget(settings.window.tokens),
    count: estimateBlock,
  });
  return {
    input: { ...input, metadata: { ...input.metadata, postTokens: tokensAfter } },
    audit,
    ledger,
    openRequest: facts.lastRequest?.isOpen === true ? facts.lastRequest.entry : undefined,
    restoration,
    reload,
    isKept,
    receipt: preview.receipt,
    tokensBefore,
    tokensAfter,
    pinsWarning: warning,
  };
}

/** Adds the agent's note to the summary. */
function appendNote(context: CompactionContext, summary: string): string {
  const { note } = context.ask;
  const noteText = note === undefined ? "" : renderNote(note, listUserTexts(context));
  return noteText === "" ? summary : `${summary}\n\n${noteText}`;
}

function boundaryContent(
  { place }: Pick<HookDeps, "place">,
  {
    context,
    written,
    composed: { ledger, repair },
  }: { readonly context: CompactionContext; readonly written: BoundarySummary; readonly composed: ComposedSummary },
): Pick<BoundaryInput, "summary" | "server"> {
  const { ask, compacting, settings } = context;
  const automatic = compacting.mode === "autonomous" ? "autonomous" : "auto";
  const { transcriptPath } = place();
  const frame = {
    trigger: ask.trigger === "auto" ? automatic : "manual",
    ...(settings.policy.summary?.transcriptPath === "included" && transcriptPath !== undefined
      ? { transcriptPath }
      : {}),
    ...(compacting.recallTool === undefined ? {} : { recallTool: compacting.recallTool }),
    pinned: context.stays.pinned.length > 0 ? "some" : "none",
  } as const;
  const { summary, server, calls } = written;
  if (server !== undefined) {
    const summarised = { kind: "block", ...server, text: summary, calls } as const;
    const carried = appendNote(context, repair("")).trim();
    return serverSummaryDraft({ summarised, carried, ledger: ledger.text, ...frame });
  }
  const message = summaryMessage({ summary: appendNote(context, repair(summary)), ...frame });
  return { summary: ledger.text === "" ? message : `${message}\n\n${ledger.text}` };
}

function restoreWithin(
  { blobs }: BlobsDep,
  {
    context,
    isKept,
    roomTokens,
  }: { readonly context: CompactionContext; readonly isKept: BoundaryDraft["isKept"]; readonly roomTokens: number },
): Promise<Restoration> {
  const { compacting, settings, count } = context;
  const { policy, thresholds } = settings;
  const parts = orderRestored(
    compacting.workingState.parts.filter((part) => isRestored(part, settings)),
    policy.summary?.restored,
  );
  const { recallTool } = compacting;
  const budgets = restoreBudgetsWithin(thresholds, { policy, roomTokens });
  return restoreState({ blobs, workingState: { parts }, recallTool, count }, { budgets, isKept });
}

/** The parts come most stable first. Those that a policy does not list come before those that it lists. */
function orderRestored(
  parts: readonly WorkingStatePart[],
  rule: SummaryRule["restored"] | undefined,
): readonly WorkingStatePart[] {
  if (rule?.order !== "as-listed") return parts;
  const listed: readonly string[] = ["files", "skills", ...rule.others];
  return parts.toSorted((left, right) => listed.indexOf(left.name) - listed.indexOf(right.name));
}

/** A policy decides which of these parts are restored; all other parts always are. */
function isRestored({ name }: WorkingStatePart, { policy }: ResolvedSettings): boolean {
  const rule = policy.summary?.restored;
  if (name === "files") return rule?.files !== undefined;
  if (name === "skills") return rule?.skills !== undefined;
  return (name !== "todos" && name !== "plan" && name !== "agents") || rule?.others.includes(name) === true;
}

function boundaryMetadata(
  context: CompactionContext,
  { written, audit }: { readonly written: BoundarySummary; readonly audit: Audit },
): BoundaryMetadata {
  const { ask, conversation, compacting, settings } = context;
  const { path, calls, changes = [], durationMillis, unseenRounds, instead } = written;
  const discovered = compacting.discovered?.() ?? [];
  const counted = findLargestCount(compacting.session.fold);
  return {
    cause: ask.cause,
    ...(ask.made === undefined ? {} : { made: ask.made }),
    preTokens: conversation.line.usedTokens,
    fixedTokens: conversation.line.fixedTokens,
    learned: compacting.session.ledger.learned,
    ...(counted === undefined ? {} : { counted }),
    messagesSummarized: countCoveredMessages(context),
    ...(discovered.length === 0 ? {} : { preCompactDiscoveredTools: [...discovered] }),
    path,
    durationMs: Math.round(durationMillis),
    ...(ask.instructions === undefined ? {} : { instructions: ask.instructions }),
    audit: { score: audit.score, parts: audit.parts },
    calls: [...calls],
    ...(calls.length === 0 || conversation.known === undefined ? {} : { costNanos: callsCost(conversation, calls) }),
    ...(changes.length === 0 ? {} : { changes: [...changes] }),
    ...(unseenRounds === undefined ? {} : { unseenRounds }),
    ...(instead === undefined ? {} : { instead }),
    chain: { ...computeChain(compacting.session.fold, { settings, source: conversation.source }) },
  };
}

/** Number of messages of which something is summarised: a reply is one message, however many entries it has. */
function countCoveredMessages({ scope, stays, compacting }: CompactionContext): number {
  const { fold } = compacting.session;
  const staying = new Set([...stays.front, ...stays.pinned, ...stays.kept]);
  const shown = fold.shown();
  const removed = new Set(scope.covered.flatMap((item) => (staying.has(item) ? [] : (shown.get(item.entry) ?? []))));
  return fold.messages.filter(({ content }) => content.some((block) => removed.has(block))).length;
}

function boundaryRange({ kept, pivot }: Scope): Pick<BoundaryInput, "kept" | "from"> {
  const [head, tail] = [kept[0], kept.at(-1)];
  return {
    kept: head === undefined || tail === undefined ? undefined : { head: head.entry, tail: tail.entry },
    from: pivot,
  };
}

function scopeMetadata(scope: Scope): BoundaryMetadata {
  const { kept, from } = boundaryRange(scope);
  return {
    ...(kept === undefined ? {} : { preservedSegment: { headUuid: kept.head, tailUuid: kept.tail } }),
    ...(from === undefined ? {} : { direction: "from" as const, pivot: from }),
  };
}

const countItemTokens = (items: readonly Item[], count: (block: Block) => number): number =>
  items.reduce((sum, { blocks }) => sum + blocks.reduce((itemSum, block) => itemSum + count(block), 0), 0);

/**
 * The user's texts: all of their messages in the log, and the quotes of them in the view's summaries. A session of another
 * client often begins with its summary, and then the user's messages are nowhere else.
 */
export function listUserTexts({
  facts,
  compacting,
}: {
  readonly facts: Pick<SessionFacts, "userMessages">;
  readonly compacting: Pick<CompactionSetup, "session">;
}): readonly string[] {
  const { items } = compacting.session.fold.projection;
  const summaries = items.filter(({ summary }) => summary === true).flatMap(({ blocks }) => blocks);
  const quoted = summaries.flatMap((block) => (block.type === "text" ? findMarkedQuotes(block.text) : []));
  return [...facts.userMessages.map(({ text }) => text), ...quoted];
}

interface ServerDraftInput extends BesideInput {
  readonly summarised: Extract<ServerSummaryOutcome, { kind: "block" }>;
  /** The quoted messages of the user; blank if there are none. */
  readonly ledger: string;
}

/** What a boundary stores of the provider's own summary: its block, its text for other models, and our text next to both. */
export function serverSummaryDraft(input: ServerDraftInput): Required<Pick<BoundaryInput, "summary" | "server">> {
  const { summarised, ledger, ...beside } = input;
  const { model, block, text } = summarised;
  return {
    // How to continue is said in the text next to it.
    summary: summaryMessage({ summary: text, trigger: "manual" }),
    server: { model, block, beside: [besideSummary(beside), ledger].filter((part) => part !== "").join("\n\n") },
  };
}
