import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type {
  WireMessage,
  ContextEdit,
  CountRequest,
  MessagesRequest,
} from "palimpsest/internal/schema/wire/messages-request";
import { hasCompactionBeta, findLastCompaction, compactionBetas } from "../compaction/compaction-block.ts";
import { extension } from "../extension.ts";
import { type Refusal, invalid } from "../refusal.ts";
import { checkBreakpoints } from "./check-breakpoints.ts";
import {
  contentBlocks,
  type CheckInput,
  type Rule,
  type BetaField,
  requestWithAnswer,
  forcesTool,
  isThinkingBlock,
  isThinking,
  formatPlace,
  groupTurns,
} from "./check-input.ts";
import { checkCompaction } from "./check-compaction.ts";
import { checkMedia } from "./check-media.ts";
import { checkPairing } from "./check-pairing.ts";
import { checkContent, checkPrefill, checkRoles, checkSystemMessages } from "./check-roles.ts";
import { checkToolChanges, checkTools } from "./check-tools.ts";
import { modelName } from "palimpsest/internal/tokens/known-models";
import { compactTriggerTokensMin, thinkingTokensMin } from "../limits.ts";
import type { Model } from "palimpsest/internal/schema/model";
import type { ModelTraits } from "../prompt/model-traits.ts";

const betaFields: readonly BetaField[] = [
  {
    path: "context_management",
    value: (request) => request.context_management,
    betas: ["context-management-2025-06-27", "compact-2026-01-12"],
  },
  { path: "compaction", value: (request) => request.compaction, betas: [compactionBetas.onDemand] },
  extension.field,
  {
    path: "mcp_servers",
    value: (request) => request.mcp_servers,
    betas: ["mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"],
  },
  { path: "speed", value: (request) => request.speed, betas: ["fast-mode-2026-02-01"], generalSince: 5 },
  {
    path: "output_format",
    value: (request) => request.output_format,
    betas: ["structured-outputs-2025-11-13", "structured-outputs-2025-12-15"],
  },
  {
    path: "safeguards",
    value: (request) => ("safeguards" in request ? request.safeguards : undefined),
    betas: ["dangerous-tool-use-2026-09-03"],
  },
  {
    path: "output_config.task_budget",
    value: (request) => request.output_config?.task_budget,
    betas: ["task-budgets-2026-03-13"],
  },
];

/** Without its beta a field is unknown. */
const checkBetas: Rule = ({ request, model, betas }) => {
  const { version } = modelName(model.id);
  for (const { path, value, betas: any, generalSince } of betaFields) {
    const sent = value(request);
    const isFree = generalSince !== undefined && version >= generalSince;
    if (sent === undefined || sent === null || isFree || any.some((name) => betas.has(name))) continue;
    return invalid("Extra inputs are not permitted", path);
  }
  if ((request.mcp_servers ?? []).length > 0)
    return invalid("this simulator does not connect to MCP servers", "mcp_servers.0");
  return undefined;
};

const betaByEdit: Readonly<Record<ContextEdit["type"], string>> = {
  clear_tool_uses_20250919: "context-management-2025-06-27",
  clear_thinking_20251015: "context-management-2025-06-27",
  compact_20260112: "compact-2026-01-12",
};

/** Which edits may be asked for, and in which order. */
const checkContextManagement: Rule = ({ request, betas }) => {
  const edits = request.context_management?.edits ?? [];
  for (const [at, edit] of edits.entries()) {
    const found = checkBeta(edit, { at, betas }) ?? checkPlace(edits, at) ?? checkTrigger(edit, at);
    if (found !== undefined) return found;
  }
  return undefined;
};

const editPath = (at: number): string => `context_management.edits.${at}`;

/** Without its beta an edit is unknown. */
function checkBeta(
  { type }: ContextEdit,
  { at, betas }: { readonly at: number; readonly betas: ReadonlySet<string> },
): Refusal | undefined {
  if (betas.has(betaByEdit[type])) return undefined;
  const known = Object.entries(betaByEdit).flatMap(([name, beta]) => (betas.has(beta) ? [`'${name}'`] : []));
  return invalid(
    `Input tag '${type}' found using 'type' does not match any of the expected tags: ${known.join(", ")}`,
    editPath(at),
  );
}

function checkPlace(edits: readonly ContextEdit[], at: number): Refusal | undefined {
  const type = edits[at]?.type;
  const first = edits.findIndex((edit) => edit.type === type);
  if (first < at) return invalid(`\`${type}\` is listed already, as edit ${first}`, editPath(at));
  return type === "clear_thinking_20251015" && at > 0
    ? invalid("`clear_thinking_20251015` must be the first edit when it is combined with others", editPath(at))
    : undefined;
}

function checkTrigger(edit: ContextEdit, at: number): Refusal | undefined {
  if (edit.type !== "compact_20260112" || (edit.trigger?.value ?? Infinity) >= compactTriggerTokensMin)
    return undefined;
  return invalid(
    `Input should be greater than or equal to ${compactTriggerTokensMin}`,
    `${editPath(at)}.${edit.type}.trigger.value`,
  );
}

/** What `thinking` asks for, what it excludes, and where thinking must stand. Signatures are not checked here. */
const checkThinking: Rule = (input) =>
  checkKind(input) ?? checkControls(input) ?? checkSampling(input) ?? checkBudget(input) ?? checkOpening(input);

function checkKind({ request, traits }: CheckInput): Refusal | undefined {
  const type = request.thinking?.type;
  if (type === undefined || traits.thinkingTypes.includes(type)) return undefined;
  return type === "enabled"
    ? invalid(
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
      )
    : invalid(`${type} thinking is not supported on this model`);
}

function checkControls({ request: { thinking }, betas }: CheckInput): Refusal | undefined {
  if (thinking?.type !== "enabled" && thinking?.type !== "adaptive") return undefined;
  const path = `thinking.${thinking.type}`;
  const hasBinding = thinking.block_binding !== undefined && thinking.block_binding !== null;
  if (hasBinding && !betas.has("thinking-binding-controls-2026-08-01"))
    return invalid("Extra inputs are not permitted", `${path}.block_binding`);
  return thinking.display === "updates" && !betas.has("thinking-display-updates-2026-08-18")
    ? invalid("Input should be 'summarized' or 'omitted'", `${path}.display`)
    : undefined;
}

function checkSampling(input: CheckInput): Refusal | undefined {
  if (!isThinking(input.request)) return undefined;
  if (forcesTool(input.request)) return invalid("Thinking may not be enabled when tool_choice forces tool use.");
  const { temperature, top_p, top_k } = requestWithAnswer(input) ?? {};
  if ((temperature ?? 1) !== 1) return invalid("`temperature` may only be set to 1 when thinking is enabled.");
  if ((top_p ?? 1) < 0.95)
    return invalid("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.");
  return (top_k ?? undefined) === undefined ? undefined : invalid("`top_k` must be unset when thinking is enabled.");
}

function checkBudget(input: CheckInput): Refusal | undefined {
  const { thinking } = input.request;
  if (thinking?.type !== "enabled") return undefined;
  if (thinking.budget_tokens < thinkingTokensMin)
    return invalid(`Input should be greater than or equal to ${thinkingTokensMin}`, "thinking.enabled.budget_tokens");
  const maxTokens = requestWithAnswer(input)?.max_tokens;
  // Thinking between calls may exceed what one reply holds.
  if (maxTokens === undefined || input.betas.has("interleaved-thinking-2025-05-14")) return undefined;
  return maxTokens > thinking.budget_tokens
    ? undefined
    : invalid("`max_tokens` must be greater than `thinking.budget_tokens`");
}

/**
 * No turn ends in thinking. With `enabled`, an unfinished tool loop must begin with thinking: the loop is everything
 * since the last user turn without results.
 */
function checkOpening({ request }: CheckInput): Refusal | undefined {
  const turns = groupTurns(request.messages).filter(({ role }) => role !== "system");
  for (const turn of turns)
    if (isThinkingBlock(turn.blocks.at(-1)?.block))
      return invalid("The final block in an assistant message cannot be `thinking`.", `messages.${turn.last}`);
  if (request.thinking?.type !== "enabled") return undefined;
  const lastUserAt = turns.findLastIndex(
    ({ role, blocks }) => role === "user" && !blocks.some(({ block }) => block.type === "tool_result"),
  );
  const opening = turns[lastUserAt + 1]?.blocks[0];
  if (opening === undefined || isThinkingBlock(opening.block)) return undefined;
  return invalid(
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${opening.block.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks). To avoid this requirement, disable \`thinking\`.`,
    `${formatPlace(opening)}.type`,
  );
}

/** Limits of the answer's length, and its stop sequences. */
const checkMaxTokens: Rule = (input) => {
  const request = requestWithAnswer(input);
  if (request === undefined) return undefined;
  const { max_tokens, model, stop_sequences } = request;
  const most = input.model.outputTokensMax;
  if (max_tokens > most)
    return invalid(
      `${max_tokens} > ${most}, which is the maximum allowed number of output tokens for ${model}`,
      "max_tokens",
    );
  const blank = (stop_sequences ?? []).findIndex((sequence) => sequence.trim() === "");
  return blank === -1
    ? undefined
    : invalid("each stop sequence must contain non-whitespace", `stop_sequences.${blank}`);
};

/** `max_tokens: 0` only writes the cache: nothing may be asked of an answer that will not exist. */
const checkPrewarm: Rule = (input) => {
  const request = requestWithAnswer(input);
  if (request?.max_tokens !== 0) return undefined;
  const { stream, output_config, output_format } = request;
  if (stream === true) return invalid("streaming is not supported when `max_tokens` is 0", "stream");
  if (isThinking(request)) return invalid("thinking may not be enabled when `max_tokens` is 0", "thinking");
  const format = output_config?.format ?? output_format ?? undefined;
  if (format !== undefined)
    return invalid("an output format is not supported when `max_tokens` is 0", "output_config.format");
  return forcesTool(request)
    ? invalid("forced tool use is not supported when `max_tokens` is 0", "tool_choice")
    : undefined;
};

interface SizeInput {
  readonly request: MessagesRequest | CountRequest;
  readonly model: Model;
  readonly traits: ModelTraits;
  readonly betas: ReadonlySet<string>;
  readonly promptTokens: number;
}

/**
 * Checks prompt and answer against the model's window. A token count has no answer: it is never refused for its length.
 */
export function checkSize({ request, model, traits, betas, promptTokens }: SizeInput): Refusal | undefined {
  if (!("max_tokens" in request)) return undefined;
  const windowTokens = model.windowTokens;
  if (promptTokens > windowTokens)
    return invalid(`prompt is too long: ${promptTokens} tokens > ${windowTokens} maximum`);
  const stops = traits.overflow === "stops" || betas.has("model-context-window-exceeded-2025-08-26");
  if (stops || promptTokens + request.max_tokens <= windowTokens) return undefined;
  return invalid(
    `input length and \`max_tokens\` exceed context limit: ${promptTokens} + ${request.max_tokens} > ${windowTokens}, decrease input length or \`max_tokens\` and try again`,
  );
}

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
