import type { CountReply } from "palimpsest/internal/schema/wire/reply";
import type { CountRequest } from "palimpsest/internal/schema/wire/request";
import type { Admitted } from "./admit.ts";
import type { Prompt } from "palimpsest/internal/cache/prompt";
import { earlierThinkingTokens } from "./prompt-of.ts";

/** What a count answers. It ignores the thinking of earlier turns, whatever the model and whatever is edited. */
export function countReply({ prompt, edits }: Admitted, { messages }: CountRequest): CountReply {
  const counted = (of: Prompt): number => of.tokens - earlierThinkingTokens(of, messages);
  return {
    input_tokens: counted(prompt),
    ...(edits === undefined ? {} : { context_management: { original_input_tokens: counted(edits.original) } }),
  };
}
