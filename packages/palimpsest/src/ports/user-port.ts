import type { ToolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import type { ToolAction, AllowRuleGrant } from "./tool.ts";

/**
 * Asks the user while a turn runs. Neither method may reject. If aborted, the prompt is removed from the screen and any
 * answer is ignored. Permissions of one agent are requested one after the other.
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
  /** Why it is not allowed without asking, in one line. */
  readonly reason: string;
  /** The rules that together would have allowed this call without asking; absent if there are none. */
  readonly suggestedRules?: readonly string[];
  /** What happens to these rules if they are granted for the project, in one line; absent if there are none. */
  readonly projectRuleNote?: string;
  /** `agent`: these rules can be granted to the agent that asks only, and are not saved. */
  readonly ruleScope?: "agent" | undefined;
}

export type PermissionAnswer =
  | { readonly kind: "once" }
  | ({ readonly kind: "always" } & AllowRuleGrant)
  /** `words`: the user's message to the model about it. */
  | { readonly kind: "denied"; readonly words?: string }
  /** The user ends the turn, so the call does not run. The host that answers this must also abort the turn. */
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

/** An answer need not be one of the options: the user can always write something else. */
export type QuestionAnswer =
  /** In the order of the questions. Each holds the chosen options, then any text the user wrote. Empty: not answered. */
  | { readonly kind: "answered"; readonly answers: readonly (readonly string[])[] }
  /** The user does not want to answer. */
  | { readonly kind: "declined"; readonly words?: string }
  | { readonly kind: "nobody" };

/** For agents that run without a user: in a script, in a fork. */
export const noUser: UserPort = {
  permission: () => Promise.resolve({ kind: "nobody" }),
  question: () => Promise.resolve({ kind: "nobody" }),
};
