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
import { formatCount } from "../../schema/format-count.ts";
import type { Item } from "../../transcript/item.ts";
import { survivors } from "../../transcript/projection.ts";

/** A summary that the gate let through, wherever it came from; or why there is none. */
export type SummaryOutcome =
  | {
      readonly kind: "made";
      readonly summary: string;
      readonly path: CompactionPath;
      readonly calls: readonly CompactionCall[];
      /** What the gate changed, a line each. */
      readonly changes: readonly string[];
      /** Oldest rounds that the summariser did not see; absent: none. */
      readonly unseenRounds?: number;
      /** Of `notes`: the last entry that they stand for; what follows stays. */
      readonly coversUntil?: EntryId | undefined;
      /** Why no model wrote it. */
      readonly instead?: CompactionProblem;
      /** The provider's own block, which says the same and counts only as it was given. */
      readonly server?: ServerSummary;
    }
  | ({ readonly kind: "failed"; readonly calls: readonly CompactionCall[] } & CompactionProblem);

/** A person's own words pass the same gate. `own`: what they changed, where that is this program's own text. */
export function checkUserSummary(ground: CompactionContext, text: Pick<GateInput, "summary" | "own">): SummaryOutcome {
  const gated = gate({ ...gateInput(ground), ...text });
  return gated.kind === "passed"
    ? { kind: "made", summary: gated.text, path: "given", calls: [], changes: gated.changes }
    : { kind: "failed", reason: "no_summary", message: gated.text, calls: [] };
}

/** It is signed: the gate takes it as it is, or not at all. */
export function checkServerSummary(ground: CompactionContext, summarised: ServerSummaryOutcome): SummaryOutcome {
  if (summarised.kind === "failed") return summarised;
  const { text, calls, model, block } = summarised;
  const gated = gate({ ...gateInput(ground), summary: text });
  if (gated.kind === "passed" && gated.changes.length === 0)
    return { kind: "made", summary: text, path: "server", calls, changes: [], server: { model, block } };
  const message = gated.kind === "passed" ? gated.changes.join(" ") : gated.text;
  return { kind: "failed", reason: "no_summary", message, calls };
}

/** If the user waits for it, or nothing can be sent any more. What a provider refuses, it also refuses to sum up: there no policy has another way. */
export const mayExtract = ({ ask, numbers }: CompactionContext): boolean =>
  ask.cause === "refused" ||
  (numbers.policy.compact?.lastRung === "extract" &&
    (ask.trigger === "manual" || ask.cause === "limit" || ask.cause === "overflow"));

/** What a model wrote can be longer than what the facts need; what a person wrote is not taken from them. */
export const mayBeShorter = (ground: CompactionContext, { path }: Extract<SummaryOutcome, { kind: "made" }>): boolean =>
  path !== "extractive" && path !== "given" && path !== "notes" && mayExtract(ground);

/** Without a model: what it says, the facts say. */
export function extractFromFacts(
  ground: CompactionContext,
): Pick<SummaryOutcome & { kind: "made" }, "summary" | "path"> {
  const { partFacts, budgets, count, scope } = ground;
  const previous = scope.covered.findLast(({ summary }) => summary === true);
  const summary = extractSummary({
    variant: summaryVariant(ground),
    facts: partFacts,
    budgetTokens: budgets.extract,
    count,
    previousSummary: previous === undefined ? undefined : joinText(previous.blocks),
    messages: budgets.ledger > 0 ? "beside" : "inside",
  });
  return { summary, path: "extractive" };
}

export function gateInput(ground: CompactionContext): Omit<GateInput, "summary"> {
  const { facts, budgets, coveredTokens, count } = ground;
  return {
    userMessages: listUserTexts(ground),
    lastReply: facts.lastReply?.text,
    budgetTokens: budgets.summary,
    replacesTokens: Math.round(coveredTokens),
    count,
  };
}

interface PromptOptions extends SummaryOptions {
  /** The person's first, then the hooks'. */
  readonly instructions: readonly string[];
}

/** Of the whole but for its beginning, or of the beginning. */
const summaryVariant = ({ ask, scope }: Pick<CompactionContext, "ask" | "scope">): SummaryVariant =>
  scope.pivot === undefined ? (ask.part.kind === "up_to" ? "up_to" : "all") : "from";

export function buildPrompt(
  { ask, scope, numbers }: CompactionContext,
  { instructions, projectInstructions, template }: PromptOptions,
): string {
  const isPartial = scope.pivot !== undefined;
  return summaryPrompt({
    variant: summaryVariant({ ask, scope }),
    instructions,
    ...(projectInstructions === undefined ? {} : { projectInstructions }),
    template,
    form: numbers.policy.summary?.form,
    analysis: analysisFor(numbers),
    previousSummary: scope.covered.some(({ summary }) => summary === true) ? "included" : "none",
    ...(isPartial ? { beginsWith: joinText(scope.covered[0]?.blocks ?? []) } : {}),
  });
}

/** Where a policy wants none, none is asked for, and one that comes all the same goes. */
export const analysisFor = ({ policy }: CompactionContext["numbers"]): "stripped" | "kept" =>
  policy.summary?.analysis === "kept" ? "kept" : "stripped";

/** What the plain call is to summarise. Working state is left out: it is put back as it is then. */
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

/** Notes in place of a model's summary; or one line for a person why not, absent where nobody has taken any. */
export type NotesSummaryOutcome =
  | {
      readonly kind: "noted";
      readonly ground: CompactionContext;
      readonly made: Extract<SummaryOutcome, { kind: "made" }>;
      /** The newest entry when it was decided what stays. */
      readonly leaf: EntryId | null;
    }
  | { readonly kind: "passed-over"; readonly because?: string };

interface NotesSummaryInput extends Omit<DraftInput, "scope"> {
  /** What people and hooks ask of the summary: notes know nothing of it. */
  readonly instructions: readonly string[];
  readonly signal: AbortSignal;
}

/** Asks no model, and waits only for notes that are being taken. */
export async function summariseFromNotes({
  instructions,
  signal,
  ...input
}: NotesSummaryInput): Promise<NotesSummaryOutcome> {
  const { ask, numbers, compacting, conversation } = input;
  const { notes, session } = compacting;
  // Behind notes something is kept as it is, and that may be what the provider refuses.
  const coversAll = ask.part.kind === "all" && ask.cause !== "refused";
  const isWanted = coversAll && ask.summary === undefined && instructions.length === 0;
  if (notes === undefined || !isWanted || !numbers.switches.notesCompact.value) return { kind: "passed-over" };
  // Where there is no time for a model, there is none for these either: the notes are as they are.
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
    // What is put back is in the draft, which `overThreshold` looks at.
    otherTokens: conversation.line.fixedTokens,
    pinned: [...front, ...pinned],
    thresholdTokens: numbers.thresholds.compact,
  });
  if (plan.kind === "unavailable")
    return plan.why === "no-notes" ? { kind: "passed-over" } : passOver(refusalTexts[plan.why]);
  const ground = createCompactionContext({ ...input, scope: { covered: plan.covered, kept: plan.kept } });
  const gated = gate({ ...gateInput(ground), summary: plan.summary });
  if (gated.kind === "refused") return passOver(gated.text);
  const coversUntil = plan.covered.at(-1)?.entry;
  const made = { kind: "made", summary: gated.text, path: "notes", calls: [], changes: gated.changes } as const;
  return { kind: "noted", ground, made: { ...made, coversUntil }, leaf: conversation.line.leaf };
}

/** With ledger and working state: at the threshold it would fire again at once, whoever asked. One line for a person. */
export function overThresholdText(
  { preview: { tokensAfter } }: Proposal,
  { numbers }: CompactionContext,
): string | undefined {
  const { compact } = numbers.thresholds;
  if (tokensAfter < compact) return undefined;
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
