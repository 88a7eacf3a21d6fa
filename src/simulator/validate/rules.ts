import type { Refusal } from "../refusal.ts";
import { checkMaxTokens, checkPrewarm } from "./answer-rules.ts";
import { checkBetas } from "./betas.ts";
import { checkBreakpoints } from "./breakpoints.ts";
import type { CheckInput, Rule } from "./check-input.ts";
import { checkMedia } from "./media.ts";
import { checkPairing } from "./pairing.ts";
import { checkContent, checkPrefill, checkRoles } from "./roles.ts";
import { checkSystemMessages } from "./system-messages.ts";
import { checkThinking } from "./thinking-rules.ts";
import { checkTools } from "./tool-rules.ts";

/**
 * The order decides which of several violations is told: fields before messages, the form of messages before what
 * they mean to each other. A marked empty text is told as such, not as an empty text; a call at the very end as a call
 * without a result, not as prefill.
 */
const rules: readonly Rule[] = [
  checkBetas,
  checkMaxTokens,
  checkPrewarm,
  checkTools,
  checkRoles,
  checkSystemMessages,
  checkBreakpoints,
  checkContent,
  checkPairing,
  checkPrefill,
  checkThinking,
  checkMedia,
];

/** The first rule that a request violates. Its shape must have been checked, and its signatures are not checked here. */
export function check(input: CheckInput): Refusal | undefined {
  for (const rule of rules) {
    const found = rule(input);
    if (found !== undefined) return found;
  }
  return undefined;
}
