import { extractSummary } from "../../layers/4-compact/extract.ts";
import { gate, type GateInput } from "../../layers/4-compact/gate.ts";
import { summaryPrompt } from "../../layers/4-compact/prompt.ts";
import type { SummaryVariant } from "../../layers/4-compact/sections.ts";
import type { Block, Message } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { CompactionCall, CompactionPath } from "../../schema/compaction.ts";
import type { ServerSummary } from "../../schema/server-summary.ts";
import { firstMessages } from "../../transcript/first-messages.ts";
import { workingStateAttachment } from "../../schema/working-state.ts";
import type { Ground } from "./boundary-draft.ts";
import type { SummaryWishes } from "./compacting.ts";
import type { CompactionProblem } from "./proposal.ts";
import { saidByUser } from "./said-by-user.ts";
import type { ServerSummarised } from "./server-call.ts";

/** A summary that the gate let through, wherever it came from; or why there is none. */
export type Made =
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
export function given(ground: Ground, text: Pick<GateInput, "summary" | "own">): Made {
  const gated = gate({ ...gateFor(ground), ...text });
  return gated.kind === "passed"
    ? { kind: "made", summary: gated.text, path: "given", calls: [], changes: gated.changes }
    : { kind: "failed", reason: "no_summary", message: gated.text, calls: [] };
}

/** It is signed: the gate takes it as it is, or not at all. */
export function served(ground: Ground, summarised: ServerSummarised): Made {
  if (summarised.kind === "failed") return summarised;
  const { text, calls, model, block } = summarised;
  const gated = gate({ ...gateFor(ground), summary: text });
  if (gated.kind === "passed" && gated.changes.length === 0)
    return { kind: "made", summary: text, path: "server", calls, changes: [], server: { model, block } };
  const message = gated.kind === "passed" ? gated.changes.join(" ") : gated.text;
  return { kind: "failed", reason: "no_summary", message, calls };
}

/** If the user waits for it, or nothing can be sent any more. What a provider refuses, it also refuses to sum up: there no policy has another way. */
export const mayExtract = ({ ask, numbers }: Ground): boolean =>
  ask.cause === "refused" ||
  (numbers.policy.compact?.lastRung === "extract" &&
    (ask.trigger === "manual" || ask.cause === "limit" || ask.cause === "overflow"));

/** What a model wrote can be longer than what the facts need; what a person wrote is not taken from them. */
export const mayBeShorter = (ground: Ground, { path }: Extract<Made, { kind: "made" }>): boolean =>
  path !== "extractive" && path !== "given" && path !== "notes" && mayExtract(ground);

/** Without a model: what it says, the facts say. */
export function extracted(ground: Ground): Pick<Made & { kind: "made" }, "summary" | "path"> {
  const { partFacts, budgets, count, scope } = ground;
  const previous = scope.covered.findLast(({ summary }) => summary === true);
  const summary = extractSummary({
    variant: variantOf(ground),
    facts: partFacts,
    budgetTokens: budgets.extract,
    count,
    previousSummary: previous === undefined ? undefined : textOf(previous.blocks),
    messages: budgets.ledger > 0 ? "beside" : "inside",
  });
  return { summary, path: "extractive" };
}

export function gateFor(ground: Ground): Omit<GateInput, "summary"> {
  const { facts, budgets, coveredTokens, count } = ground;
  return {
    userMessages: saidByUser(ground),
    lastReply: facts.lastReply?.text,
    budgetTokens: budgets.summary,
    replacesTokens: Math.round(coveredTokens),
    count,
  };
}

export interface Wishes extends SummaryWishes {
  /** The person's first, then the hooks'. */
  readonly instructions: readonly string[];
}

/** Of the whole but for its beginning, or of the beginning. */
const variantOf = ({ ask, scope }: Pick<Ground, "ask" | "scope">): SummaryVariant =>
  scope.pivot === undefined ? (ask.part.kind === "up_to" ? "up_to" : "all") : "from";

export function promptOf(
  { ask, scope, numbers }: Ground,
  { instructions, projectInstructions, template }: Wishes,
): string {
  const isPartial = scope.pivot !== undefined;
  return summaryPrompt({
    variant: variantOf({ ask, scope }),
    instructions,
    ...(projectInstructions === undefined ? {} : { projectInstructions }),
    template,
    form: numbers.policy.summary?.form,
    analysis: analysisFor(numbers),
    previousSummary: scope.covered.some(({ summary }) => summary === true) ? "included" : "none",
    ...(isPartial ? { beginsWith: textOf(scope.covered[0]?.blocks ?? []) } : {}),
  });
}

/** Where a policy wants none, none is asked for, and one that comes all the same goes. */
export const analysisFor = ({ policy }: Ground["numbers"]): "stripped" | "kept" =>
  policy.summary?.analysis === "kept" ? "kept" : "stripped";

/** What the plain call is to summarise. Working state is left out: it is put back as it is then. */
export function messagesIn({ conversation, compacting, scope }: Ground): readonly Message[] {
  const restored = new Set<Block>(
    compacting.session.fold.projection.items.flatMap(({ attachment, blocks }) =>
      attachment === workingStateAttachment ? blocks : [],
    ),
  );
  return firstMessages(conversation.line.snapshot(), scope)
    .map(({ role, content }) => ({ role, content: content.filter((block) => !restored.has(block)) }))
    .filter(({ content }) => content.length > 0);
}

const textOf = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
