import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import { hasCompactionBeta, findLastCompaction } from "../compaction/compaction-block.ts";
import { extension } from "../extension.ts";
import type { Refusal } from "../refusal.ts";
import { checkBetas, checkContextManagement } from "./check-betas.ts";
import { checkMaxTokens, checkPrewarm } from "./check-max-tokens.ts";
import { checkBreakpoints } from "./check-breakpoints.ts";
import { contentBlocks, type CheckInput, type Rule } from "./check-input.ts";
import { checkCompaction } from "./check-compaction.ts";
import { checkMedia } from "./check-media.ts";
import { checkPairing } from "./check-pairing.ts";
import { checkContent, checkPrefill, checkRoles, checkSystemMessages } from "./check-roles.ts";
import { checkThinking } from "./check-thinking.ts";
import { checkToolChanges, checkTools } from "./check-tools.ts";

/**
 * The order decides which of several violations is reported: fields before messages, the form of messages before their
 * relations. A marked empty text is reported as such, not as an empty text; a call at the very end as a call without a
 * result, not as prefill.
 */
const rules: readonly Rule[] = [
  checkBetas,
  checkContextManagement,
  checkMaxTokens,
  checkPrewarm,
  checkTools,
  checkCompaction,
  checkRoles,
  checkSystemMessages,
  checkToolChanges,
  checkBreakpoints,
  checkContent,
  checkPairing,
  extension.rule,
  checkPrefill,
  checkThinking,
  checkMedia,
];

/** Rules that concern only what the model is shown: what a compaction replaces is not checked by them. */
const rulesOfShown: ReadonlySet<Rule> = new Set([checkBreakpoints, checkPairing, checkMedia]);

/** The first rule that a request violates. Its shape must have been checked; its signatures are not checked here. */
export function checkRules(input: CheckInput): Refusal | undefined {
  const shown = hasCompactionBeta(input.betas) ? fromCompaction(input) : input;
  for (const rule of rules) {
    const found = rule(rulesOfShown.has(rule) ? shown : input);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Blanks everything up to the last compaction with content; what follows keeps its index, so that problems are reported
 * at their place.
 */
function fromCompaction(input: CheckInput): CheckInput {
  const { messages } = input.request;
  const from = findLastCompaction(messages);
  if (from === undefined) return input;
  const left = messages.map((message, at) => {
    if (at < from.message) return { ...message, content: [] };
    return at > from.message ? message : { ...message, content: fromBlock(message.content, from.block) };
  });
  return { ...input, request: { ...input.request, messages: left } };
}

const fromBlock = (content: WireMessage["content"], from: number): WireBlock[] =>
  contentBlocks(content).map((block, index) => (index < from ? blankBlock : block));

/** A block without content. */
const blankBlock: WireBlock = { type: "compaction", content: null };
