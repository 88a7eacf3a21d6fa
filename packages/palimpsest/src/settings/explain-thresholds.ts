import { fullBufferWindowTokens } from "../tokens/limits.ts";
import { inputBound, type Thresholds } from "../tokens/thresholds.ts";
import type { ResolvedSettings } from "./resolved-settings.ts";
import { formatCount } from "../text/format-count.ts";

/**
 * How each threshold is computed: each text, evaluated, gives the threshold (a test does that). "none" if the policy has
 * no such threshold.
 */
export function explainThresholds(settings: ResolvedSettings): { readonly [Name in keyof Thresholds]: string } {
  const { thresholds, compactPercent, policy, blockingTokens } = settings;
  const { window, effective, outputReserve, limit } = thresholds;
  const rule = policy.thresholds;
  const inputTokensMax = settings.inputTokensMax?.tokens;
  const bound = inputBound({ rule, window, inputTokensMax });
  const scaled = scaleText(bound);
  const below = (from: number, buffer: number): string =>
    buffer === 0 ? formatCount(from) : `${formatCount(from)} − ${scaled(formatCount(buffer))}`;
  const compact = [
    below(effective, rule.compactBufferTokens),
    ...(rule.inputLimit === "compacts" && inputTokensMax !== undefined ? [formatCount(inputTokensMax)] : []),
    ...(compactPercent === undefined ? [] : [`floor(${formatCount(effective)} × ${compactPercent} / 100)`]),
  ];
  const warning = rule.warningBufferTokens === undefined ? "none" : `max(0, ${below(limit, rule.warningBufferTokens)})`;
  const room = `${formatCount(window)} − ${formatCount(outputReserve)}`;
  return {
    window: formatCount(window),
    outputReserve:
      rule.outputReserveTokensMax === 0
        ? "0"
        : scaled(`min(${formatCount(settings.outputTokensMax.tokens)}, ${formatCount(rule.outputReserveTokensMax)})`),
    effective: bound < window ? `min(${room}, ${formatCount(bound)})` : room,
    compact: compact.length === 1 ? compact.join() : `min(${compact.join(", ")})`,
    limit: formatCount(limit),
    warning,
    error: warning,
    blocking:
      blockingTokens === undefined ? blockingText(bound, rule.blockingBufferTokens) : formatCount(blockingTokens),
  };
}

const blockingText = (bound: number, buffer: number | undefined): string =>
  buffer === undefined ? "none" : `${formatCount(bound)} − ${scaleText(bound)(formatCount(buffer))}`;

const scaleText =
  (window: number) =>
  (text: string): string =>
    window >= fullBufferWindowTokens
      ? text
      : `floor(${text} × (${formatCount(window)} / ${formatCount(fullBufferWindowTokens)}))`;
