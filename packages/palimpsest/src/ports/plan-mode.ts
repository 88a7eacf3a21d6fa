/** Turns plan mode on and submits the agent's plan to the user. */
export interface PlanMode {
  /** From here on the agent may change nothing. The user is not asked, because this only restricts. Must not reject. */
  enter(): Promise<EnterPlanOutcome>;
  /** Saves the plan and shows it to the user; turns plan mode on if it is off. Must not reject. */
  propose(plan: string, signal: AbortSignal): Promise<ProposePlanOutcome>;
}

type EnterPlanOutcome = { readonly kind: "on" } | PlanModeFailure;

export type ProposePlanOutcome =
  /** Plan mode is over. `plan`: the accepted text, if the user changed it. */
  | { readonly kind: "accepted"; readonly mode: ModeAfterPlan; readonly plan?: string; readonly words?: string }
  /** Plan mode stays on. */
  | { readonly kind: "refused"; readonly words?: string | undefined }
  /** Plan mode stays on: there is no user who could end it. */
  | { readonly kind: "nobody" }
  | PlanModeFailure;

export interface PlanModeFailure {
  readonly kind: "failed";
  /** One line. */
  readonly message: string;
}

/** Modes that the user may choose when ending plan mode. */
export type ModeAfterPlan = "default" | "acceptEdits";

/** Asks the user about a plan. Must not reject. If aborted, any answer is ignored. */
export interface PlanReview {
  review(request: PlanReviewRequest, signal: AbortSignal): Promise<PlanAnswer>;
}

export interface PlanReviewRequest {
  readonly plan: string;
  /** The file that holds it. */
  readonly path: string;
}

export type PlanAnswer =
  /** `plan`: set if the user changed it. */
  | { readonly kind: "accepted"; readonly mode: ModeAfterPlan; readonly plan?: string; readonly words?: string }
  | { readonly kind: "refused"; readonly words?: string | undefined }
  | { readonly kind: "nobody" };

/** For forks, which must not change the mode of their parent's session. */
export const forkPlanMode: PlanMode = {
  enter: () => Promise.resolve(forkFailure),
  propose: () => Promise.resolve(forkFailure),
};

/** For a session that had plan mode but now runs without a user: its tool definitions must stay the same. */
export const unattendedPlanMode: PlanMode = {
  enter: () => Promise.resolve(unattendedFailure),
  propose: () => Promise.resolve(unattendedFailure),
};

const unattendedFailure: PlanModeFailure = {
  kind: "failed",
  message: "Nobody is there to look at a plan, so plan mode was not turned on. Say in your answer what you would do.",
};

const forkFailure: PlanModeFailure = {
  kind: "failed",
  message: "This is a side task: only the main conversation can plan with the person.",
};
