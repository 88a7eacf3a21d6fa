import { headroomBelow } from "../../layers/4-compact/compaction-budgets.ts";
import { extractSummary } from "../../layers/4-compact/extract-summary.ts";
import { gate, type GateInput } from "../../layers/4-compact/gate/gate.ts";
import { summaryPrompt } from "../../layers/4-compact/prompt.ts";
import type { SummaryVariant } from "../../layers/4-compact/summary-sections.ts";
import type { Block, Message, ServerSummary } from "../../schema/block.ts";
import { type EntryId, tokens } from "../../schema/brand.ts";
import type { CompactionCall, CompactionPath } from "../../schema/compaction-cause.ts";
import { firstMessages } from "../../transcript/first-messages.ts";
import { workingStateAttachmentType } from "../../schema/restored-part.ts";
import { type CompactionContext, listUserTexts, type DraftInput, createCompactionContext } from "./boundary-draft.ts";
import type { SummaryOptions } from "./compaction-setup.ts";
import type { CompactionProblem, Proposal } from "./proposal.ts";
import type { ServerSummaryOutcome } from "./server-call.ts";
import { type NotesRefusal, planNotesCompact } from "../../layers/3-notes/plan.ts";
import { formatCount } from "../../text/format-count.ts";
import type { Item } from "../../transcript/item.ts";
import { survivors } from "../../transcript/projection.ts";

/** A summary that has passed the gate, whatever its source; or why there is none. */
export type SummaryOutcome =
  | {
      readonly kind: "made";
      readonly summary: string;
      readonly path: CompactionPath;
      readonly calls: readonly CompactionCall[];
      /** What the gate changed, one line each. */
      readonly changes: readonly string[];
      /** Oldest rounds that the summariser did not see; absent if there are none. */
      readonly unseenRounds?: number;
      /** For `notes`: the last entry that they cover; what follows stays. */
      readonly coversUntil?: EntryId | undefined;
      /** Why no model wrote it. */
      readonly instead?: CompactionProblem;
      /** The provider's own block with the same text; it must be sent back unchanged. */
      readonly server?: ServerSummary;
    }
  | ({ readonly kind: "failed"; readonly calls: readonly CompactionCall[] } & CompactionProblem);

/** The user's own summary passes the same gate. `own`: the text that the user edited, if this program wrote it. */
export function checkUserSummary(context: CompactionContext, text: Pick<GateInput, "summary" | "own">): SummaryOutcome {
  const gated = gate({ ...gateInput(context), ...text });
  return gated.kind === "passed"
    ? { kind: "made", summary: gated.text, path: "given", calls: [], changes: gated.changes }
    : { kind: "failed", reason: "no_summary", message: gated.text, calls: [] };
}

/** The block is signed: the gate accepts it unchanged, or not at all. */
export function checkServerSummary(context: CompactionContext, summarised: ServerSummaryOutcome): SummaryOutcome {
  if (summarised.kind === "failed") return summarised;
  const { text, calls, model, block } = summarised;
  const gated = gate({ ...gateInput(context), summary: text });
  if (gated.kind === "passed" && gated.changes.length === 0)
    return { kind: "made", summary: text, path: "server", calls, changes: [], server: { model, block } };
  const message = gated.kind === "passed" ? gated.changes.join(" ") : gated.text;
  return { kind: "failed", reason: "no_summary", message, calls };
}

/**
 * May a summary be made without a model? Yes if the user waits for it, or if no request fits any more. A provider that
 * refuses the content also refuses to summarise it, whatever the policy says.
 */
export const mayExtract = ({ ask, settings }: CompactionContext): boolean =>
  ask.cause === "refused" ||
  (settings.policy.compact?.lastRung === "extract" &&
    (ask.trigger === "manual" || ask.cause === "limit" || ask.cause === "overflow"));

/** A model's summary may be longer than the facts need, and can be replaced; the user's own text is never replaced. */
export const mayBeShorter = (
  context: CompactionContext,
  { path }: Extract<SummaryOutcome, { kind: "made" }>,
): boolean => path !== "extractive" && path !== "given" && path !== "notes" && mayExtract(context);

/** Makes a summary from the facts, without a model. */
export function extractFromFacts(
  context: CompactionContext,
): Pick<SummaryOutcome & { kind: "made" }, "summary" | "path"> {
  const { partFacts, budgets, count, scope } = context;
  const previous = scope.covered.findLast(({ summary }) => summary === true);
  const summary = extractSummary({
    variant: summaryVariant(context),
    facts: partFacts,
    budgetTokens: budgets.extract,
    count,
    previousSummary: previous === undefined ? undefined : joinText(previous.blocks),
    messages: budgets.ledger > 0 ? "beside" : "inside",
  });
  return { summary, path: "extractive" };
}

export function gateInput(context: CompactionContext): Omit<GateInput, "summary"> {
  const { facts, budgets, coveredTokens, count } = context;
  return {
    userMessages: listUserTexts(context),
    lastReply: facts.lastReply?.text,
    budgetTokens: budgets.summary,
    replacesTokens: Math.round(coveredTokens),
    count,
  };
}

interface PromptOptions extends SummaryOptions {
  /** The user's come first, then those of hooks. */
  readonly instructions: readonly string[];
}

const summaryVariant = ({ ask, scope }: Pick<CompactionContext, "ask" | "scope">): SummaryVariant =>
  scope.pivot === undefined ? (ask.part.kind === "up_to" ? "up_to" : "all") : "from";

export function buildPrompt(
  { ask, scope, settings }: CompactionContext,
  { instructions, projectInstructions, template }: PromptOptions,
): string {
  const isPartial = scope.pivot !== undefined;
  return summaryPrompt({
    variant: summaryVariant({ ask, scope }),
    instructions,
    ...(projectInstructions === undefined ? {} : { projectInstructions }),
    template,
    form: settings.policy.summary?.form,
    analysis: analysisFor(settings),
    previousSummary: scope.covered.some(({ summary }) => summary === true) ? "included" : "none",
    ...(isPartial ? { beginsWith: joinText(scope.covered[0]?.blocks ?? []) } : {}),
  });
}

/** Unless the policy keeps the analysis, the prompt does not ask for one, and one that comes anyway is removed. */
export const analysisFor = ({ policy }: CompactionContext["settings"]): "stripped" | "kept" =>
  policy.summary?.analysis === "kept" ? "kept" : "stripped";

/** The messages for the plain call. Working state is left out: its current version is restored after the boundary. */
export function messagesToSummarise({ conversation, compacting, scope }: CompactionContext): readonly Message[] {
  const restored = new Set<Block>(
    compacting.session.fold.projection.items.flatMap(({ attachment, blocks }) =>
      attachment === workingStateAttachmentType ? blocks : [],
    ),
  );
  return firstMessages(conversation.line.snapshot(), scope)
    .map(({ role, content }) => ({ role, content: content.filter((block) => !restored.has(block)) }))
    .filter(({ content }) => content.length > 0);
}

const joinText = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

/** Notes in place of a model's summary; or one line for the user why not, absent if there are no notes. */
export type NotesSummaryOutcome =
  | {
      readonly kind: "noted";
      readonly context: CompactionContext;
      readonly made: Extract<SummaryOutcome, { kind: "made" }>;
      /** The last entry when it was decided what stays. */
      readonly leaf: EntryId | null;
    }
  | { readonly kind: "passed-over"; readonly because?: string };

interface NotesSummaryInput extends Omit<DraftInput, "scope"> {
  /** Instructions by the user and hooks, which notes can't follow. */
  readonly instructions: readonly string[];
  readonly signal: AbortSignal;
}

/** Calls no model, and waits only for notes that are being taken. */
export async function summariseFromNotes({
  instructions,
  signal,
  ...input
}: NotesSummaryInput): Promise<NotesSummaryOutcome> {
  const { ask, settings, compacting, conversation } = input;
  const { notes, session } = compacting;
  // After notes some messages are kept verbatim, and one of them may be what the provider refuses.
  const coversAll = ask.part.kind === "all" && ask.cause !== "refused";
  const isWanted = coversAll && ask.summary === undefined && instructions.length === 0;
  if (notes === undefined || !isWanted || !settings.switches.notesCompact.value) return { kind: "passed-over" };
  // If there is no time for a model, there is none to wait for notes either.
  if (ask.summariser !== "nobody") await notes.settle(signal);
  const [noted, template] = await Promise.all([notes.read(), notes.template()]);
  const { items, pins } = session.fold.projection;
  const { counter } = session.ledger;
  const count = ({ blocks }: Pick<Item, "blocks">): number => blocks.reduce((sum, block) => sum + counter(block), 0);
  const { front, pinned } = survivors(items, pins, {});
  const plan = planNotesCompact({
    noted,
    template,
    items,
    count,
    countText: (text) => tokens(Math.ceil(count({ blocks: [{ type: "text", text }] }))),
    path: notes.path,
    // Restored state is part of the draft, which `overThresholdText` checks.
    otherTokens: conversation.line.fixedTokens,
    pinned: [...front, ...pinned],
    thresholdTokens: settings.thresholds.compact,
  });
  if (plan.kind === "unavailable")
    return plan.why === "no-notes" ? { kind: "passed-over" } : passOver(refusalTexts[plan.why]);
  const context = createCompactionContext({ ...input, scope: { covered: plan.covered, kept: plan.kept } });
  const gated = gate({ ...gateInput(context), summary: plan.summary });
  if (gated.kind === "refused") return passOver(gated.text);
  const coversUntil = plan.covered.at(-1)?.entry;
  const made = { kind: "made", summary: gated.text, path: "notes", calls: [], changes: gated.changes } as const;
  return { kind: "noted", context, made: { ...made, coversUntil }, leaf: conversation.line.leaf };
}

/**
 * Why notes are not used if the context, with ledger and working state, would be due again at once, or would leave less
 * room than the policy asks of any compaction. One line for the user.
 */
export function overThresholdText(
  { preview: { tokensAfter } }: Proposal,
  { settings }: CompactionContext,
): string | undefined {
  const { compact } = settings.thresholds;
  const headroom = headroomBelow(compact, settings.policy);
  if (headroom === 0 ? tokensAfter < compact : tokensAfter + headroom <= compact) return undefined;
  return notesNotUsedText(`the context would still have about ${formatCount(tokensAfter)} tokens.`);
}

export const notesNotUsedText = (why: string): string => `The notes were not used: ${why}`;

const passOver = (why: string): NotesSummaryOutcome => ({ kind: "passed-over", because: notesNotUsedText(why) });

const refusalTexts: { readonly [Why in Exclude<NotesRefusal, "no-notes">]: string } = {
  "bare-template": "they hold nothing yet.",
  "cover-gone": "what they cover is no longer in the view.",
  "no-cut": "a reply or a call reaches over the last boundary.",
  "nothing-covered": "everything that they cover would stay.",
  "still-over": "with what they do not cover, the context would still be over the threshold.",
};
