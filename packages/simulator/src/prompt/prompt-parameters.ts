import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { extension } from "../extension.ts";

/** The fields of a request that are part of its prompt from the messages on. */
export type PromptFields = Pick<
  MessagesRequest,
  "tool_choice" | "thinking" | "output_config" | "output_format" | "context_management"
>;

/**
 * What the cache takes of each parameter that it knows from the messages on. A default that is spelled out is not a
 * change.
 */
export function messageParameters(
  request: PromptFields,
  betas: Iterable<string>,
): Readonly<Record<keyof PromptFields | "betas", unknown>> {
  const { output_config: output } = request;
  return {
    tool_choice: toolChoiceValue(request),
    thinking: thinkingValue(request),
    output_config: [output?.effort ?? "high", output?.format ?? null, output?.task_budget ?? null],
    output_format: output?.format === undefined || output.format === null ? (request.output_format ?? null) : null,
    context_management: request.context_management ?? null,
    betas: [...betas].filter(isPromptBeta).toSorted(),
  };
}

function toolChoiceValue({ tool_choice: choice }: PromptFields): readonly unknown[] {
  if (choice === null || choice === undefined) return ["auto", "", false];
  const parallel = choice.type === "none" ? false : choice.disable_parallel_tool_use === true;
  return [choice.type, choice.type === "tool" ? choice.name : "", parallel];
}

/** The handling of mismatches and the display are not part of the prompt. */
function thinkingValue({ thinking }: PromptFields): readonly unknown[] {
  if (thinking === null || thinking === undefined) return ["disabled"];
  return thinking.type === "enabled" ? [thinking.type, thinking.budget_tokens] : [thinking.type];
}

/**
 * Betas that change how a request is billed, routed, limited, sent or reported, but not what the model is shown: a
 * client may send one with some requests of a conversation only. Those about the model's input stay part of the key.
 */
const promptFreeBetas: readonly RegExp[] = [
  // Billing and routing.
  /^fallback-credit-/,
  /^server-side-fallback-/,
  // The cache itself, and reports about it.
  /^cache-diagnosis-/,
  /^extended-cache-ttl-/,
  /^prompt-caching-/,
  // Limits.
  /^max-tokens-/,
  /^model-context-window-exceeded-/,
  /^output-\d+k-/,
  // Checks beside the conversation.
  /^dangerous-tool-use-/,
  // How a reply is sent, and what is reported with it.
  /^fine-grained-tool-streaming-/,
  /^thinking-binding-controls-/,
  /^thinking-display-updates-/,
  /^thinking-token-count-/,
  // Other endpoints, accounts, the client's own name.
  /^admin-/,
  /^analytics-/,
  /^claude-code-\d+$/,
  /^message-batches-/,
  /^message-threads-/,
  /^oauth-/,
  /^oidc-federation-/,
  /^spend-limit-reads-/,
  /^telemetry-destinations-/,
  /^token-counting-/,
  /^user-profiles-/,
  /^webhooks-/,
];

/** Whether a beta is part of the cache key. */
const isPromptBeta = (beta: string): boolean =>
  extension.isOfPrefix(beta) && !promptFreeBetas.some((form) => form.test(beta));
