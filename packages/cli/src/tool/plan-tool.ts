import { z } from "zod";
import type { ModeAfterPlan, PlanMode, ProposePlanOutcome } from "palimpsest/internal/ports/plan-mode";
import type { Tool, ToolOutcome } from "palimpsest/internal/ports/tool";
import { defineTool, toolError } from "./define-tool.ts";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";

/** How the line for people begins where a plan was not accepted; behind it, after a colon, what the person said. */
export const planRefusedText = "the plan was not accepted";

/** A plan is read by a person before work begins, and stands again behind every boundary: several pages. */
export const planCharsMax = 20_000;

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
  const said = words === undefined || words === "" ? "" : `\nThe person says: ${words}`;
  const changed = plan === undefined ? "" : `\n\nThe person changed the plan. It now reads:\n${plan}`;
  return `The person accepted the plan. Plan mode is over. ${textByMode[mode]}${said}${changed}`;
}

const textByMode: { readonly [Mode in ModeAfterPlan]: string } = {
  default: "Changes are still asked about one by one.",
  acceptEdits: "Edits of files in the project are accepted without asking.",
};

const summarizeRefusal = ({ words = "" }: Extract<ProposePlanOutcome, { kind: "refused" }>): string =>
  words.trim() === "" ? planRefusedText : `${planRefusedText}: ${words.trim()}`;

function formatRefusal({ words }: Extract<ProposePlanOutcome, { kind: "refused" }>): string {
  const said = words === undefined || words === "" ? "Ask what should be otherwise." : `The person says: ${words}`;
  return `The person did not accept the plan, and plan mode stays on. ${said}`;
}

const nobodyText =
  "Nobody is there to accept the plan, and plan mode stays on. The plan is kept; end your turn with it.";

export interface PlanState {
  /** What the model is told of plan mode; undefined where it is off. */
  readonly modeText: string | undefined;
  readonly plan: KeptPlan | undefined;
}

export interface KeptPlan {
  readonly text: string;
  readonly state: "proposed" | "accepted";
}

interface PlanPartDeps {
  /** As the session's entries tell it at this moment. */
  readonly planState: () => PlanState;
}

/** That plan mode is on, and the plan that was put before the person last. */
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
