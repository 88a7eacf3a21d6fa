import type { WireBlock } from "palimpsest/internal/schema/wire/block";
import type { WireMessage } from "palimpsest/internal/schema/wire/request";
import { asksForCompactions } from "../compaction/betas.ts";
import { lastCompaction } from "../compaction/blocks.ts";
import { extension } from "../extension.ts";
import type { Refusal } from "../refusal.ts";
import { checkMaxTokens, checkPrewarm } from "./answer-rules.ts";
import { checkBetas } from "./betas.ts";
import { checkBreakpoints } from "./breakpoints.ts";
import { blocksOf, type CheckInput, type Rule } from "./check-input.ts";
import { checkContextManagement } from "./context-management.ts";
import { checkCompaction } from "./compaction-rules.ts";
import { checkMedia } from "./media.ts";
import { checkPairing } from "./pairing.ts";
import { checkContent, checkPrefill, checkRoles } from "./roles.ts";
import { checkSystemMessages } from "./system-messages.ts";
import { checkThinking } from "./thinking-rules.ts";
import { checkToolChanges } from "./tool-changes.ts";
import { checkTools } from "./tool-rules.ts";

/**
 * The order decides which of several violations is told: fields before messages, the form of messages before what
 * they mean to each other. A marked empty text is told as such, not as an empty text; a call at the very end as a call
 * without a result, not as prefill.
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

/** Those that concern only what the model is shown: what a compaction stands for is nobody's matter any more. */
const rulesOfShown: ReadonlySet<Rule> = new Set([checkBreakpoints, checkPairing, checkMedia]);

/** The first rule that a request violates. Its shape must have been checked, and its signatures are not checked here. */
export function check(input: CheckInput): Refusal | undefined {
  const shown = asksForCompactions(input.betas) ? fromCompaction(input) : input;
  for (const rule of rules) {
    const found = rule(rulesOfShown.has(rule) ? shown : input);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Empty up to the last compaction with content; everything behind keeps its place, so that problems are told where they are. */
function fromCompaction(input: CheckInput): CheckInput {
  const { messages } = input.request;
  const from = lastCompaction(messages);
  if (from === undefined) return input;
  const left = messages.map((message, at) => {
    if (at < from.message) return { ...message, content: [] };
    return at > from.message ? message : { ...message, content: fromBlock(message.content, from.block) };
  });
  return { ...input, request: { ...input.request, messages: left } };
}

const fromBlock = (content: WireMessage["content"], from: number): WireBlock[] =>
  blocksOf(content).map((block, index) => (index < from ? nothing : block));

/** A block that says nothing. */
const nothing: WireBlock = { type: "compaction", content: null };
