import { z } from "zod";
import type { ModeAfterPlan, PlanMode, ProposePlanOutcome } from "palimpsest/internal/ports/plan-mode";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import { defineTool, toolError } from "./define-tool.ts";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";

/** How the line for the user begins if a plan was not accepted; the user's words follow after a colon. */
export const planRefusedText = "the plan was not accepted";

/** Several pages: the user reads a plan before work begins, and it is repeated after every boundary. */
export const planCharsMax = 20_000;

const input = z.strictObject({
  plan: z
    .string()
    .trim()
    .min(1)
    .max(planCharsMax)
    .optional()
    .describe(
      `In Markdown, at most ${planCharsMax} characters: what you would change, where, in which order, and how it is checked.`,
    ),
});

/** One tool both to enter and to leave plan mode: a second definition would add to every request. */
export const planTool = ({ planning }: { readonly planning: PlanMode }): Tool =>
  defineTool({
    name: "plan",
    description:
      "Plan before a change that is large or could be done in several ways. Without a plan: turns plan mode on, in which you only read. With a plan: puts it before the person, whose leave ends plan mode.",
    input,
    effect: "write",
    plan: async ({ plan }) => ({
      kind: "ready",
      acts: [{ kind: "state", what: "plan" }],
      run: (signal) => (plan === undefined ? enterPlanMode(planning) : proposePlan(planning, { plan, signal })),
    }),
  });

async function enterPlanMode(planning: PlanMode): Promise<ToolOutcome> {
  const outcome = await planning.enter();
  switch (outcome.kind) {
    case "on":
      return { content: planModeText, summary: "plan mode is on" };
    case "failed":
      return toolError(outcome.message);
  }
}

const planModeText =
  "Plan mode is on. Read and search, change nothing. When you know how you would do it, call plan with the plan.";

async function proposePlan(
  planning: PlanMode,
  { plan, signal }: { readonly plan: string; readonly signal: AbortSignal },
): Promise<ToolOutcome> {
  const outcome = await planning.propose(plan, signal);
  switch (outcome.kind) {
    case "accepted":
      return { content: formatAccepted(outcome), summary: "the plan was accepted" };
    case "refused":
      return { content: formatRefusal(outcome), summary: summarizeRefusal(outcome) };
    case "nobody":
      return { content: nobodyText, summary: "nobody was there to look at the plan" };
    case "failed":
      return toolError(outcome.message);
  }
}

function formatAccepted({ mode, plan, words }: Extract<ProposePlanOutcome, { kind: "accepted" }>): string {
  const comment = words === undefined || words === "" ? "" : `\nThe person says: ${words}`;
  const changes = plan === undefined ? "" : `\n\nThe person changed the plan. It now reads:\n${plan}`;
  return `The person accepted the plan. Plan mode is over. ${textByMode[mode]}${comment}${changes}`;
}

const textByMode: { readonly [Mode in ModeAfterPlan]: string } = {
  default: "Changes are still asked about one by one.",
  acceptEdits: "Edits of files in the project are accepted without asking.",
};

const summarizeRefusal = ({ words = "" }: Extract<ProposePlanOutcome, { kind: "refused" }>): string =>
  words.trim() === "" ? planRefusedText : `${planRefusedText}: ${words.trim()}`;

function formatRefusal({ words }: Extract<ProposePlanOutcome, { kind: "refused" }>): string {
  const comment = words === undefined || words === "" ? "Ask what should be otherwise." : `The person says: ${words}`;
  return `The person did not accept the plan, and plan mode stays on. ${comment}`;
}

const nobodyText =
  "Nobody is there to accept the plan, and plan mode stays on. The plan is kept; end your turn with it.";

export interface PlanState {
  /** What the model is told about plan mode; undefined if it is off. */
  readonly modeText: string | undefined;
  readonly plan: KeptPlan | undefined;
}

export interface KeptPlan {
  readonly text: string;
  readonly state: "proposed" | "accepted";
}

interface PlanPartDeps {
  /** According to the session's entries at this moment. */
  readonly planState: () => PlanState;
}

/** Says that plan mode is on, and repeats the plan that was last proposed. */
export const planPart = ({ planState }: PlanPartDeps): WorkingStatePart => ({
  name: "plan",
  stability: usualStability.plan,
  snapshot: async ({ budgets }) => {
    const pieces = planPieces(planState());
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: budgets.other };
  },
});

const planPieces = ({ modeText, plan }: PlanState): readonly RestoredPiece[] => [
  ...(modeText === undefined
    ? []
    : [{ title: "plan mode", text: modeText, handle: "plan mode is on: change nothing before the person ends it" }]),
  ...(plan === undefined ? [] : [{ title: "the plan", intro: introByState[plan.state], text: plan.text }]),
];

const introByState: { readonly [State in KeptPlan["state"]]: string } = {
  proposed: "The plan as it was last put before the person, who has not accepted it:",
  accepted: "The plan that the person accepted:",
};
