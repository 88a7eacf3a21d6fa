import { isObject, type Json } from "palimpsest/internal/schema/json";
import type { FieldChanges } from "../../body/write-body.ts";
import { thinkingTokensMin } from "../limits.ts";

export interface ReplyLimit {
  /** The field that holds it. */
  readonly name: string;
  readonly value: number;
}

interface ReplyLimitInput {
  /** What the client asks for. */
  readonly asked: ReplyLimit | undefined;
  /** As it is sent. */
  readonly thinking: Json | undefined;
  /** The room that the window leaves. */
  readonly fittingTokens: number;
}

/**
 * Lowers the reply limit if the reply would not fit. A thinking budget must stay below the limit. It is halved rather than
 * fitted exactly: every new value invalidates the message cache, and the free room changes with each request.
 */
export function fitReplyLimit({ asked, thinking, fittingTokens }: ReplyLimitInput): FieldChanges {
  if (asked === undefined || asked.value <= fittingTokens) return {};
  const budget = isObject(thinking) ? thinking["budget_tokens"] : undefined;
  // If the client's own budget already exceeds its limit, the API evidently allows that.
  if (!isObject(thinking) || typeof budget !== "number" || budget >= asked.value)
    return { [asked.name]: fittingTokens };
  const limit = Math.min(asked.value, Math.max(fittingTokens, 2 * thinkingTokensMin));
  let lowered = budget;
  while (lowered >= limit) lowered = Math.max(thinkingTokensMin, Math.floor(lowered / 2));
  return {
    [asked.name]: limit,
    ...(lowered === budget ? {} : { thinking: { ...thinking, budget_tokens: lowered } }),
  };
}
