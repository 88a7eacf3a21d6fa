import { z } from "zod";
import type { ModeAfterPlan, Planning, Proposed } from "palimpsest/internal/ports/planning";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tools";
import { defineTool, failed } from "../define.ts";
import { planCharsMax } from "./limits.ts";
import { planRefusedWords } from "./words.ts";

interface PlanDeps {
  readonly planning: Planning;
}

const input = z.strictObject({
  plan: z
    .string()
    .trim()
    .min(1)
    .max(planCharsMax)
    .optional()
    .describe("In Markdown: what you would change, where, in which order, and how it is checked."),
});

/** One tool for the way in and the way out: a second definition would stand in front of every request. */
export const planTool = ({ planning }: PlanDeps): Tool =>
  defineTool({
    name: "plan",
    description:
      "Plan before a change that is large or could be done in several ways. Without a plan: turns plan mode on, in which you only read. With a plan: puts it before the person, whose leave ends plan mode.",
    input,
    effect: "write",
    plan: async ({ plan }) => ({
      kind: "ready",
      acts: [{ kind: "state", what: "plan" }],
      run: (signal) => (plan === undefined ? entered(planning) : proposed(planning, { plan, signal })),
    }),
  });

async function entered(planning: Planning): Promise<ToolOutcome> {
  const outcome = await planning.enter();
  switch (outcome.kind) {
    case "on":
      return { content: on, summary: "plan mode is on" };
    case "failed":
      return failed(outcome.message);
  }
}

const on =
  "Plan mode is on. Read and search, change nothing. When you know how you would do it, call plan with the plan.";

interface Proposing {
  readonly plan: string;
  readonly signal: AbortSignal;
}

async function proposed(planning: Planning, { plan, signal }: Proposing): Promise<ToolOutcome> {
  const outcome = await planning.propose(plan, signal);
  switch (outcome.kind) {
    case "accepted":
      return { content: acceptedText(outcome), summary: "the plan was accepted" };
    case "refused":
      return { content: refusedText(outcome), summary: refusedSummary(outcome) };
    case "nobody":
      return { content: nobodyText, summary: "nobody was there to look at the plan" };
    case "failed":
      return failed(outcome.message);
  }
}

function acceptedText({ mode, plan, words }: Extract<Proposed, { kind: "accepted" }>): string {
  const said = words === undefined || words === "" ? "" : `\nThe person says: ${words}`;
  const changed = plan === undefined ? "" : `\n\nThe person changed the plan. It now reads:\n${plan}`;
  return `The person accepted the plan. Plan mode is over. ${modeWords[mode]}${said}${changed}`;
}

const modeWords: { readonly [Mode in ModeAfterPlan]: string } = {
  default: "Changes are still asked about one by one.",
  acceptEdits: "Edits of files in the project are accepted without asking.",
};

const refusedSummary = ({ words = "" }: Extract<Proposed, { kind: "refused" }>): string =>
  words.trim() === "" ? planRefusedWords : `${planRefusedWords}: ${words.trim()}`;

function refusedText({ words }: Extract<Proposed, { kind: "refused" }>): string {
  const said = words === undefined || words === "" ? "Ask what should be otherwise." : `The person says: ${words}`;
  return `The person did not accept the plan, and plan mode stays on. ${said}`;
}

const nobodyText =
  "Nobody is there to accept the plan, and plan mode stays on. The plan is kept; end your turn with it.";
