import { extractFitTriesMax } from "./limits.ts";
import {
  concepts,
  currentWork,
  errors,
  files,
  nextStep,
  pendingTasks,
  planSection,
  primaryRequest,
  problemSolving,
  replySection,
  type SectionInput,
  type SectionMaker,
  userMessages,
  previousLines,
} from "./extract-sections.ts";
import type { SessionFacts } from "./facts/session-facts.ts";
import { type CountText, fitLines } from "../clip-text.ts";
import { summaryInMessage } from "./summary-message.ts";
import { idText } from "./quote.ts";
import { type SummaryVariant, userMessagesTitle } from "./summary-sections.ts";

interface ExtractInput {
  /** Decides the headings and what is said about the newest request. */
  readonly variant?: SummaryVariant;
  readonly facts: SessionFacts;
  readonly budgetTokens: number;
  readonly count: CountText;
  /** The summary of the previous boundary. What only it still knows is carried on. */
  readonly previousSummary?: string | undefined;
  /** `beside`: a ledger stands beside the summary, and the sixth section only refers to it. */
  readonly messages?: "inside" | "beside";
}

/**
 * Writes nine sections without a model. It is the last resort, so it answers any input. A pure function of its input;
 * never over the budget; every line has the id it comes from; text from the history is quoted as data.
 */
export function extractSummary({ budgetTokens, ...input }: ExtractInput): string {
  const draft = {
    variant: "all" as const,
    messages: "inside" as const,
    ...input,
    previous: previousLines(summaryInMessage(input.previousSummary ?? "")),
  };
  let target = budgetTokens;
  for (let attempt = 0; attempt < extractFitTriesMax && target > 0; attempt += 1) {
    const text = summaryWithin(draft, target);
    const over = input.count(text) - budgetTokens;
    if (over <= 0) return text;
    target -= Math.ceil(over * 1.2);
  }
  return fitLines(bareLines(input.facts), { tokensMax: budgetTokens - 1, count: input.count }).join("\n");
}

interface SectionPlan {
  readonly title: string;
  /** Share of the budget. What a section does not need goes to those that are made after it. */
  readonly share: number;
  readonly make: SectionMaker;
}

const opening: readonly SectionPlan[] = [
  { title: "Primary Request and Intent", share: 0.12, make: primaryRequest },
  { title: "Key Technical Concepts", share: 0.02, make: concepts },
  { title: "Files and Code Sections", share: 0.22, make: files },
  { title: "Errors and Fixes", share: 0.14, make: errors },
  { title: "Problem Solving", share: 0.04, make: problemSolving },
  { title: userMessagesTitle, share: 0.28, make: userMessages },
  { title: "Pending Tasks", share: 0.1, make: pendingTasks },
];

const closing: readonly SectionPlan[] = [
  { title: "Current Work", share: 0.05, make: currentWork },
  { title: "Optional Next Step", share: 0.03, make: nextStep },
];

const closingUpTo: readonly SectionPlan[] = [
  { title: "Work Completed", share: 0.03, make: replySection },
  { title: "Optional Next Step", share: 0.03, make: nextStep },
  { title: "Context for Continuing Work", share: 0.02, make: planSection },
];

/** What the audit looks for is made first; the rest gets what is left. */
const makingOrder: readonly SectionMaker[] = [
  pendingTasks,
  errors,
  files,
  userMessages,
  primaryRequest,
  nextStep,
  currentWork,
  replySection,
  planSection,
  problemSolving,
  concepts,
];

function summaryWithin(draft: Omit<SectionInput, "tokensMax">, budgetTokens: number): string {
  const inOrder = [...opening, ...(draft.variant === "up_to" ? closingUpTo : closing)];
  const frame = inOrder.map(({ title }, at) => sectionText({ title, at, lines: [] })).join("\n\n");
  const room = Math.max(0, budgetTokens - draft.count(frame));
  const shares = new Map(inOrder.map(({ make, share }) => [make, Math.floor(share * room)]));
  const first = makeAll(draft, { tokensByMaker: shares, spare: 0 });
  // What was left over is offered once more to the sections that were made before.
  const { linesByMaker } = makeAll(draft, { tokensByMaker: first.usedByMaker, spare: first.spare });
  return inOrder
    .map(({ title, make }, at) => sectionText({ title, at, lines: linesByMaker.get(make) ?? [] }))
    .join("\n\n")
    .toWellFormed();
}

interface Allotment {
  readonly tokensByMaker: ReadonlyMap<SectionMaker, number>;
  /** For the first section that needs more. */
  readonly spare: number;
}

interface MadeSections {
  readonly linesByMaker: ReadonlyMap<SectionMaker, readonly string[]>;
  readonly usedByMaker: ReadonlyMap<SectionMaker, number>;
  readonly spare: number;
}

function makeAll(draft: Omit<SectionInput, "tokensMax">, { tokensByMaker, spare }: Allotment): MadeSections {
  const linesByMaker = new Map<SectionMaker, readonly string[]>();
  const usedByMaker = new Map<SectionMaker, number>();
  let left = spare;
  for (const make of makingOrder) {
    const share = tokensByMaker.get(make);
    if (share === undefined) continue;
    const tokensMax = share + left;
    const lines = tokensMax > 0 ? make({ ...draft, tokensMax }) : [];
    const used = lines.reduce((sum, line) => sum + draft.count(`${line}\n`), 0);
    left = Math.max(0, tokensMax - used);
    linesByMaker.set(make, lines);
    usedByMaker.set(make, used);
  }
  return { linesByMaker, usedByMaker, spare: left };
}

const sectionText = ({
  title,
  at,
  lines,
}: {
  readonly title: string;
  readonly at: number;
  readonly lines: readonly string[];
}): string => [`${at + 1}. ${title}:`, ...(lines.length === 0 ? ["None."] : lines)].join("\n");

/** If there is no room for headings: the ids under which the rest is found. */
const bareLines = ({ lastRequest, userMessages: [first] }: SessionFacts): readonly string[] => [
  ...(lastRequest === undefined ? [] : [`Newest request: ${idText(lastRequest.entry)}`]),
  ...(first === undefined ? [] : [`First request: ${idText(first.entry)}`]),
];
