import type { ToolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { ToolAction, AllowRuleGrant } from "./tool.ts";

/**
 * Who may be asked while a turn runs. Neither method may reject. Aborted, what is shown is taken away and whatever is
 * answered counts for nothing. Permissions of one agent are asked for one after the other.
 */
export interface UserPort {
  permission(request: PermissionPrompt, signal: AbortSignal): Promise<PermissionAnswer>;
  question(request: QuestionPrompt, signal: AbortSignal): Promise<QuestionAnswer>;
}

export interface PermissionPrompt {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  readonly input: JsonObject;
  readonly acts: readonly ToolAction[];
  /** Why it is not allowed by itself, in a line. */
  readonly reason: string;
  /** The rules under which this call would have run unasked, all of them needed; absent where there are none. */
  readonly suggestedRules?: readonly string[];
  /** What becomes of these rules where they are given for the project, in a line; absent where there are none. */
  readonly projectRuleNote?: string;
}

export type PermissionAnswer =
  | { readonly kind: "once" }
  | ({ readonly kind: "always" } & AllowRuleGrant)
  /** `words`: what the person says to the model about it. */
  | { readonly kind: "denied"; readonly words?: string }
  /** They end the turn: the call does not run. Whoever answers so aborts the turn, too. */
  | { readonly kind: "interrupted" }
  | { readonly kind: "nobody" };

export interface QuestionPrompt {
  readonly toolUse: ToolUseId;
  readonly questions: readonly Question[];
}

export interface Question {
  readonly question: string;
  /** A word or two, for a tab or a title. */
  readonly header?: string;
  readonly options: readonly QuestionOption[];
  readonly choose: "one" | "many";
}

interface QuestionOption {
  readonly label: string;
  readonly description?: string;
}

/** An answer need not be one of the options: a person can always write something else. */
export type QuestionAnswer =
  /** In the order of the questions; those chosen of one question, then what was written. Empty: left unanswered. */
  | { readonly kind: "answered"; readonly answers: readonly (readonly string[])[] }
  /** They would rather not answer. */
  | { readonly kind: "declined"; readonly words?: string }
  | { readonly kind: "nobody" };

/** Where the agent works alone: in a script, in a fork. */
export const noUser: UserPort = {
  permission: () => Promise.resolve({ kind: "nobody" }),
  question: () => Promise.resolve({ kind: "nobody" }),
};
