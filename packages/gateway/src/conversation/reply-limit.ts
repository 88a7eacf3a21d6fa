import { isObject, type Json } from "palimpsest/internal/schema/json";
import type { FieldChanges } from "../body/write-body.ts";
import { thinkingTokensMin } from "./limits.ts";

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
 * Only if the reply would not fit. A budget for thinking has to stay below the limit; it is halved, because each other
 * budget breaks the cache of the messages, while the room is another one with each request.
 */
export function fitReplyLimit({ asked, thinking, fittingTokens }: ReplyLimitInput): FieldChanges {
  if (asked === undefined || asked.value <= fittingTokens) return {};
  const budget = isObject(thinking) ? thinking["budget_tokens"] : undefined;
  // One that is not below the client's own limit either is allowed to be above it.
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
