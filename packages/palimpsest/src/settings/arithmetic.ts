import { fullBufferWindowTokens } from "../tokens/limits.ts";
import { inputBound, type Thresholds } from "../tokens/thresholds.ts";
import type { Numbers } from "./numbers.ts";
import { figure } from "../schema/figure.ts";

/**
 * How each threshold comes about, in figures: each line, reckoned out, gives the threshold (a test does that). "none"
 * where the policy has no such threshold.
 */
export function arithmeticOf(numbers: Numbers): { readonly [Name in keyof Thresholds]: string } {
  const { thresholds, compactPercent, policy, blockingTokens } = numbers;
  const { window, effective, outputReserve, limit } = thresholds;
  const rule = policy.thresholds;
  const inputTokensMax = numbers.inputTokensMax?.tokens;
  const bound = inputBound({ rule, window, inputTokensMax });
  const scaled = scaledFor(bound);
  const below = (from: number, buffer: number): string =>
    buffer === 0 ? figure(from) : `${figure(from)} − ${scaled(figure(buffer))}`;
  const compact = [
    below(effective, rule.compactBufferTokens),
    ...(rule.inputLimit === "compacts" && inputTokensMax !== undefined ? [figure(inputTokensMax)] : []),
    ...(compactPercent === undefined ? [] : [`floor(${figure(effective)} × ${compactPercent} / 100)`]),
  ];
  const warning = rule.warningBufferTokens === undefined ? "none" : `max(0, ${below(limit, rule.warningBufferTokens)})`;
  const room = `${figure(window)} − ${figure(outputReserve)}`;
  return {
    window: figure(window),
    outputReserve:
      rule.outputReserveTokensMax === 0
        ? "0"
        : scaled(`min(${figure(numbers.outputTokensMax.tokens)}, ${figure(rule.outputReserveTokensMax)})`),
    effective: bound < window ? `min(${room}, ${figure(bound)})` : room,
    compact: compact.length === 1 ? compact.join() : `min(${compact.join(", ")})`,
    limit: figure(limit),
    warning,
    error: warning,
    blocking: blockingTokens === undefined ? blockingText(bound, rule.blockingBufferTokens) : figure(blockingTokens),
  };
}

const blockingText = (bound: number, buffer: number | undefined): string =>
  buffer === undefined ? "none" : `${figure(bound)} − ${scaledFor(bound)(figure(buffer))}`;

const scaledFor =
  (window: number) =>
  (text: string): string =>
    window >= fullBufferWindowTokens
      ? text
      : `floor(${text} × (${figure(window)} / ${figure(fullBufferWindowTokens)}))`;
