import type { BlobsDep } from "../../ports/blobs.ts";
import type { Audit } from "../../layers/4-compact/audit.ts";
import { budgetsOf, type CompactionBudgets, restoringWithin } from "../../layers/4-compact/budgets.ts";
import { type Composed, composeSummary } from "../../layers/4-compact/compose.ts";
import { wordsIn } from "../../layers/4-compact/fact-book.ts";
import type { SessionFacts, TextFact } from "../../layers/4-compact/facts.ts";
import { quotedNote } from "../../layers/4-compact/note.ts";
import { factsOfPart } from "../../layers/4-compact/part-facts.ts";
import { pinsBudget, pinsWithin } from "../../layers/4-compact/pins.ts";
import { shownWhole, type Restoration } from "../../layers/4-compact/restore.ts";
import { restoreState } from "../../layers/4-compact/run-restore.ts";
import { summaryMessage } from "../../layers/4-compact/summary-message.ts";
import type { LedgerSection } from "../../layers/4-compact/user-ledger.ts";
import type { WorkingStatePart } from "../../ports/working-state.ts";
import type { Block } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens } from "../../schema/brand.ts";
import type { CompactionCall, CompactionPath } from "../../schema/compaction.ts";
import type { BoundaryMetadata } from "../../schema/edit.ts";
import type { Receipt } from "../../schema/receipt.ts";
import type { ServerSummary } from "../../schema/server-summary.ts";
import type { Numbers } from "../../settings/numbers.ts";
import { estimateBlock } from "../../tokens/estimate.ts";
import type { Item } from "../../transcript/item.ts";
import { type Survivors, survivors } from "../../transcript/project.ts";
import type { Conversation } from "../conversation.ts";
import type { HookDeps } from "../deps.ts";
import { boundaryDrafts, type BoundaryInput } from "../../session/boundary.ts";
import { largestCounted } from "../../session/counted.ts";
import { chainOf } from "./chain.ts";
import type { Compacting } from "./compacting.ts";
import type { CompactionAsk, CompactionProblem } from "./proposal.ts";
import { saidByUser } from "./said-by-user.ts";
import type { Scope } from "./scope.ts";
import { serverSummaryDraft } from "./server-draft.ts";
import { callsCost } from "./spent.ts";

export interface DraftInput {
  readonly conversation: Conversation;
  readonly compacting: Compacting;
  readonly numbers: Numbers;
  readonly ask: CompactionAsk;
  readonly scope: Scope;
  readonly facts: SessionFacts;
}

/** A boundary before its summary is known: what stays, how much may be said, and how it is counted. */
export interface Ground extends DraftInput {
  readonly stays: Survivors;
  /** Of what the summary stands for. */
  readonly partFacts: SessionFacts;
  readonly budgets: CompactionBudgets;
  /** Of a text in the view, in the tokens by which the context is counted. */
  readonly count: (text: string) => Tokens;
  /** Of the header and what stays as it is. */
  readonly staysTokens: number;
  /** Of what the summary takes the place of, by the same rates. */
  readonly coveredTokens: number;
}

export function groundOf(input: DraftInput): Ground {
  const { conversation, compacting, numbers, scope } = input;
  const { items, pins } = compacting.session.fold.projection;
  const stays = survivors(items, pins, metadataOf(scope));
  // Behind a boundary nothing is counted yet: by these rates the context will be reckoned until a reply comes.
  const { counter: countBlock, estimate } = compacting.session.ledger;
  const staysTokens =
    conversation.line.fixedTokens + tokensOf([...stays.front, ...stays.pinned, ...stays.kept], countBlock);
  const coveredTokens = Math.max(0, estimate - staysTokens);
  const { thresholds, policy } = numbers;
  const count = (text: string): Tokens => tokens(Math.ceil(countBlock({ type: "text", text })));
  const partFacts = partFactsOf(input, stays);
  return {
    ...input,
    stays,
    partFacts,
    staysTokens,
    coveredTokens,
    count,
    budgets: budgetsOf({ thresholds, policy, staysTokens, coveredTokens }),
  };
}

/** What stands before a part that begins in the middle has its own summary, or stays: only what is covered counts. */
function partFactsOf({ facts, scope: { covered, pivot } }: DraftInput, stays: Survivors): SessionFacts {
  const shown = new Set([...stays.front, ...stays.pinned, ...stays.kept].map(({ entry }) => entry));
  const within = new Set(covered.map(({ entry }) => entry));
  const holds = (entry: EntryId): boolean => !shown.has(entry) && (pivot === undefined || within.has(entry));
  const { lastReply } = facts;
  const isOfPart = lastReply !== undefined && holds(lastReply.entry);
  return factsOfPart(facts, {
    holds,
    lastReply: isOfPart ? lastReply : lastReplyIn(covered.filter(({ entry }) => holds(entry))),
  });
}

function lastReplyIn(items: readonly Item[]): TextFact | undefined {
  const last = items.findLast(({ role, blocks }) => role === "assistant" && wordsIn(blocks) !== "");
  return last === undefined ? undefined : { text: wordsIn(last.blocks), entry: last.entry };
}

/** What produced the summary, and what it took. */
export interface Written {
  readonly summary: string;
  readonly path: CompactionPath;
  readonly calls: readonly CompactionCall[];
  /** One line each, for a person: what was taken out of the summary, and why notes were passed over. */
  readonly changes?: readonly string[] | undefined;
  readonly unseenRounds?: number | undefined;
  readonly instead?: CompactionProblem | undefined;
  readonly durationMillis: number;
  readonly server?: ServerSummary | undefined;
}

/** Why it was compacted; and if calls for a summary were paid for that nobody uses, why that is so. */
function because(ask: Ground["ask"], { instead, calls }: Written): { readonly because?: string } {
  const unused = instead === undefined || calls.length === 0 ? [] : [unusedText(instead, calls.length)];
  const said = [...(ask.because === undefined ? [] : [ask.because]), ...unused];
  return said.length === 0 ? {} : { because: said.join(". ") };
}

/** One line for the user. */
export const unusedText = ({ message }: CompactionProblem, calls: number): string =>
  `${calls === 1 ? "A call" : `${calls} calls`} for a summary ${calls === 1 ? "is" : "are"} paid for and not used: ${message} It was made without a model instead`;

/** Everything that a commit writes, and what it would do to the view. */
export interface BoundaryDraft {
  readonly input: BoundaryInput;
  readonly audit: Audit;
  readonly ledger: LedgerSection;
  /** What a person said last and waits for. */
  readonly openRequest: EntryId | undefined;
  readonly restoration: Restoration;
  readonly isKept: ReturnType<typeof shownWhole>;
  readonly receipt: Receipt;
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
  readonly pinsWarning: string | undefined;
}

type BoundaryDeps = BlobsDep & Pick<HookDeps, "place">;

/** Asks for the working state of this moment: what stands in the draft is as old as the draft. */
export async function draftBoundary(deps: BoundaryDeps, ground: Ground, written: Written): Promise<BoundaryDraft> {
  const { compacting, conversation, facts, ask, numbers, stays, scope } = ground;
  const { fold } = compacting.session;
  const staying = [...stays.front, ...stays.pinned, ...stays.kept];
  const composed = composeSummary({
    summary: written.summary,
    facts: ground.partFacts,
    shown: new Set(staying.map(({ entry }) => entry)),
    budgets: ground.budgets,
    rule: numbers.policy.summary,
    count: ground.count,
  });
  const { ledger, audit } = composed;
  const content = contentOf(deps, { ground, written, composed });
  const contentTokens = ground.count([content.summary, content.server?.beside ?? ""].join("\n"));
  const isKept = shownWhole({ items: staying, decisions: fold.projection.decisions });
  const restoration = await restoredWithin(deps, {
    ground,
    isKept,
    roomTokens: Math.min(ground.budgets.restored, ground.budgets.room - contentTokens),
  });
  const input: BoundaryInput = {
    ...content,
    trigger: ask.trigger,
    ...keptIn(scope),
    attachments: restoration.told.map(({ draft }) => draft),
    facts,
    ...because(ask, written),
    metadata: metadataFor(ground, { written, audit }),
  };
  const foreseen = compacting.session.foresee({
    drafts: boundaryDrafts(input, { leaf: fold.path.leaf?.id }),
    cause: ask.trigger,
    nature: "summarised",
  });
  const tokensBefore = conversation.line.usedTokens;
  const tokensAfter = foreseen.tokens;
  const { items, pins } = fold.projection;
  const { warning } = pinsWithin({
    items,
    pins,
    budgetTokens: pinsBudget(numbers.window.tokens),
    count: estimateBlock,
  });
  return {
    input: { ...input, metadata: { ...input.metadata, postTokens: tokensAfter } },
    audit,
    ledger,
    openRequest: facts.lastRequest?.isOpen === true ? facts.lastRequest.entry : undefined,
    restoration,
    isKept,
    receipt: foreseen.receipt,
    tokensBefore,
    tokensAfter,
    pinsWarning: warning,
  };
}

/** The summary as the model sees it, with the agent's note. */
function noted(ground: Ground, summary: string): string {
  const { note: own } = ground.ask;
  const note = own === undefined ? "" : quotedNote(own, saidByUser(ground));
  return note === "" ? summary : `${summary}\n\n${note}`;
}

interface ContentInput {
  readonly ground: Ground;
  readonly written: Written;
  readonly composed: Composed;
}

function contentOf(
  { place }: Pick<HookDeps, "place">,
  { ground, written, composed: { ledger, repaired } }: ContentInput,
): Pick<BoundaryInput, "summary" | "server"> {
  const { ask, compacting, numbers } = ground;
  const automatic = compacting.mode === "autonomous" ? "autonomous" : "auto";
  const { transcriptPath } = place();
  const around = {
    trigger: ask.trigger === "auto" ? automatic : "manual",
    ...(numbers.policy.summary?.transcriptPath === "told" && transcriptPath !== undefined ? { transcriptPath } : {}),
    ...(compacting.recallTool === undefined ? {} : { recallTool: compacting.recallTool }),
    pinned: ground.stays.pinned.length > 0 ? "some" : "none",
  } as const;
  const { summary, server, calls } = written;
  if (server !== undefined) {
    const summarised = { kind: "block", ...server, text: summary, calls } as const;
    const carried = noted(ground, repaired("")).trim();
    return serverSummaryDraft({ summarised, carried, ledger: ledger.text, ...around });
  }
  const said = summaryMessage({ summary: noted(ground, repaired(summary)), ...around });
  return { summary: ledger.text === "" ? said : `${said}\n\n${ledger.text}` };
}

interface RestoringInput {
  readonly ground: Ground;
  readonly isKept: BoundaryDraft["isKept"];
  readonly roomTokens: number;
}

function restoredWithin({ blobs }: BlobsDep, { ground, isKept, roomTokens }: RestoringInput): Promise<Restoration> {
  const { compacting, numbers, count } = ground;
  const { policy, thresholds } = numbers;
  const parts = compacting.workingState.parts.filter((part) => isRestored(part, numbers));
  const { recallTool } = compacting;
  const budgets = restoringWithin(thresholds, { policy, roomTokens });
  return restoreState({ blobs, workingState: { parts }, recallTool, count }, { budgets, isKept });
}

/** A policy says which of these come back; whatever else there is always does. */
function isRestored({ name }: WorkingStatePart, { policy }: Numbers): boolean {
  const rule = policy.summary?.restored;
  if (name === "files") return rule?.files !== undefined;
  if (name === "skills") return rule?.skills !== undefined;
  return (name !== "todos" && name !== "plan" && name !== "agents") || rule?.others.includes(name) === true;
}

interface MetadataInput {
  readonly written: Written;
  readonly audit: Audit;
}

function metadataFor(ground: Ground, { written, audit }: MetadataInput): BoundaryMetadata {
  const { ask, conversation, compacting, numbers } = ground;
  const { path, calls, changes = [], durationMillis, unseenRounds, instead } = written;
  const discovered = compacting.discovered?.() ?? [];
  const counted = largestCounted(compacting.session.fold);
  return {
    cause: ask.cause,
    ...(ask.made === undefined ? {} : { made: ask.made }),
    preTokens: conversation.line.usedTokens,
    fixedTokens: conversation.line.fixedTokens,
    learned: compacting.session.ledger.learned,
    ...(counted === undefined ? {} : { counted }),
    messagesSummarized: messagesCovered(ground),
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
    chain: { ...chainOf(compacting.session.fold, { numbers, source: conversation.source }) },
  };
}

/** Messages of a request of which something is summarised: a reply is one, however many entries it has. */
function messagesCovered({ scope, stays, compacting }: Ground): number {
  const { fold } = compacting.session;
  const staying = new Set([...stays.front, ...stays.pinned, ...stays.kept]);
  const shown = fold.shown();
  const gone = new Set(scope.covered.flatMap((item) => (staying.has(item) ? [] : (shown.get(item.entry) ?? []))));
  return fold.messages.filter(({ content }) => content.some((block) => gone.has(block))).length;
}

function keptIn({ kept, pivot }: Scope): Pick<BoundaryInput, "kept" | "from"> {
  const [head, tail] = [kept[0], kept.at(-1)];
  return {
    ...(head === undefined || tail === undefined ? {} : { kept: { head: head.entry, tail: tail.entry } }),
    ...(pivot === undefined ? {} : { from: pivot }),
  };
}

function metadataOf(scope: Scope): BoundaryMetadata {
  const { kept, from } = keptIn(scope);
  return {
    ...(kept === undefined ? {} : { preservedSegment: { headUuid: kept.head, tailUuid: kept.tail } }),
    ...(from === undefined ? {} : { direction: "from" as const, pivot: from }),
  };
}

const tokensOf = (items: readonly Item[], count: (block: Block) => number): number =>
  items.reduce((sum, { blocks }) => sum + blocks.reduce((of, block) => of + count(block), 0), 0);
