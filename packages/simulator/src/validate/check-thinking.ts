import { thinkingTokensMin } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import {
  requestWithAnswer,
  type CheckInput,
  forcesTool,
  isThinkingBlock,
  type Rule,
  isThinking,
  formatPlace,
  groupTurns,
} from "./check-input.ts";

/** What `thinking` asks for, what it excludes, and where thinking must stand. Signatures are not checked here. */
export const checkThinking: Rule = (input) =>
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
