/** Where the agent's plan goes: into plan mode, and before a person. */
export interface PlanMode {
  /** From here on nothing is changed. It only narrows, so nobody is asked. Must not reject. */
  enter(): Promise<EnterPlanOutcome>;
  /** Keeps the plan and puts it before the person; in plan mode, which it enters where need be. Must not reject. */
  propose(plan: string, signal: AbortSignal): Promise<ProposePlanOutcome>;
}

type EnterPlanOutcome = { readonly kind: "on" } | PlanModeFailure;

export type ProposePlanOutcome =
  /** Plan mode is over. `plan`: as the person accepted it, where that is otherwise than proposed. */
  | { readonly kind: "accepted"; readonly mode: ModeAfterPlan; readonly plan?: string; readonly words?: string }
  /** Plan mode stays. */
  | { readonly kind: "refused"; readonly words?: string | undefined }
  /** Plan mode stays: who could end it is not there. */
  | { readonly kind: "nobody" }
  | PlanModeFailure;

export interface PlanModeFailure {
  readonly kind: "failed";
  /** One line. */
  readonly message: string;
}

/** Modes that a person may end plan mode with. */
export type ModeAfterPlan = "default" | "acceptEdits";

/** The person's part. Must not reject. Aborted, whatever is answered counts for nothing. */
export interface PlanReview {
  review(ask: PlanReviewRequest, signal: AbortSignal): Promise<PlanAnswer>;
}

export interface PlanReviewRequest {
  readonly plan: string;
  /** Where it is written. */
  readonly path: string;
}

export type PlanAnswer =
  /** `plan`: where the person changed it. */
  | { readonly kind: "accepted"; readonly mode: ModeAfterPlan; readonly plan?: string; readonly words?: string }
  | { readonly kind: "refused"; readonly words?: string | undefined }
  | { readonly kind: "nobody" };

/** A fork's: the mode of its parent's session is not the fork's to change. */
export const forkPlanMode: PlanMode = {
  enter: () => Promise.resolve(forkFailure),
  propose: () => Promise.resolve(forkFailure),
};

/** Of a session that had one to plan with, where nobody is there now: its definitions stay what they were. */
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
