import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/working-state";

export interface PlanState {
  /** What the model is told of plan mode; undefined where it is off. */
  readonly modeText: string | undefined;
  readonly plan: KeptPlan | undefined;
}

export interface KeptPlan {
  readonly text: string;
  readonly state: "proposed" | "accepted";
}

export interface PlanPartDeps {
  /** As the session's entries tell it at this moment. */
  readonly planState: () => PlanState;
}

/** That plan mode is on, and the plan that was put before the person last. */
export const planPart = ({ planState }: PlanPartDeps): WorkingStatePart => ({
  name: "plan",
  stability: stabilityOf.plan,
  snapshot: async ({ budgets }) => {
    const pieces = piecesOf(planState());
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: budgets.other };
  },
});

const piecesOf = ({ modeText, plan }: PlanState): readonly RestoredPiece[] => [
  ...(modeText === undefined
    ? []
    : [{ title: "plan mode", text: modeText, handle: "plan mode is on: change nothing before the person ends it" }]),
  ...(plan === undefined ? [] : [{ title: "the plan", intro: introOf[plan.state], text: plan.text }]),
];

const introOf: { readonly [State in KeptPlan["state"]]: string } = {
  proposed: "The plan as it was last put before the person, who has not accepted it:",
  accepted: "The plan that the person accepted:",
};
