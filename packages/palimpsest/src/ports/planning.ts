/** Where the agent's plan goes: into plan mode, and before a person. */
export interface Planning {
  /** From here on nothing is changed. It only narrows, so nobody is asked. Must not reject. */
  enter(): Promise<Entered>;
  /** Keeps the plan and puts it before the person; in plan mode, which it enters where need be. Must not reject. */
  propose(plan: string, signal: AbortSignal): Promise<Proposed>;
}

export type Entered = { readonly kind: "on" } | PlanningFailure;

export type Proposed =
  /** Plan mode is over. `plan`: as the person accepted it, where that is otherwise than proposed. */
  | { readonly kind: "accepted"; readonly mode: ModeAfterPlan; readonly plan?: string; readonly words?: string }
  /** Plan mode stays. */
  | { readonly kind: "refused"; readonly words?: string | undefined }
  /** Plan mode stays: who could end it is not there. */
  | { readonly kind: "nobody" }
  | PlanningFailure;

export interface PlanningFailure {
  readonly kind: "failed";
  /** One line. */
  readonly message: string;
}

/** Modes that a person may end plan mode with. */
export type ModeAfterPlan = "default" | "acceptEdits";

/** The person's part. Must not reject. Aborted, whatever is answered counts for nothing. */
export interface PlanReview {
  review(ask: PlanAsk, signal: AbortSignal): Promise<PlanAnswer>;
}

export interface PlanAsk {
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
export const refusingPlanning: Planning = {
  enter: () => Promise.resolve(asideRefused),
  propose: () => Promise.resolve(asideRefused),
};

/** Of a session that had one to plan with, where nobody is there now: its definitions stay what they were. */
export const planningAlone: Planning = {
  enter: () => Promise.resolve(aloneRefused),
  propose: () => Promise.resolve(aloneRefused),
};

const aloneRefused: PlanningFailure = {
  kind: "failed",
  message: "Nobody is there to look at a plan, so plan mode was not turned on. Say in your answer what you would do.",
};

const asideRefused: PlanningFailure = {
  kind: "failed",
  message: "This is a side task: only the main conversation can plan with the person.",
};
