import type { Spent, UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { IterationUsage, SampledUsage } from "palimpsest/internal/schema/wire/reply";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";

/** One time that the model was asked in the course of a request, and what that took. */
export interface Iteration {
  readonly type: "message" | "compaction";
  /** Of its own prompt. */
  readonly split: UsageSplit;
  readonly outputTokens: number;
}

export const spentOf = ({ split, outputTokens }: Iteration, request: MessagesRequest): Spent => ({
  usage: split,
  outputTokens,
  speed: request.speed,
  inferenceGeo: request.inference_geo,
});

/** What the totals of a reply are made of: compactions are paid for, but not told in them. */
export const totalOf = (iterations: readonly Iteration[]): Omit<Iteration, "type"> =>
  iterations.find(({ type }) => type === "message") ?? { split: nothing, outputTokens: 0 };

const nothing: UsageSplit = { inputTokens: 0, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };

/** `told`: the number that the client is told in place of one, where a fault makes it wrong. */
export function usageTold(
  { split, outputTokens }: Omit<Iteration, "type">,
  told: (tokens: number) => number,
): SampledUsage {
  const fiveMinutes = told(split.cacheWrite5mTokens);
  const hour = told(split.cacheWrite1hTokens);
  return {
    input_tokens: told(split.inputTokens),
    cache_creation_input_tokens: fiveMinutes + hour,
    cache_read_input_tokens: told(split.cacheReadTokens),
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: hour },
    output_tokens: told(outputTokens),
  };
}

export interface IterationTelling {
  /** As the request names it. */
  readonly model: string;
  readonly told: (tokens: number) => number;
}

export const iterationTold = (iteration: Iteration, { model, told }: IterationTelling): IterationUsage =>
  iteration.type === "message"
    ? { type: "message", model, ...usageTold(iteration, told) }
    : { type: "compaction", ...usageTold(iteration, told) };
