import {
  blockingBufferTokens,
  compactBufferTokens,
  fullBufferWindowTokens,
  outputReserveTokensMax,
  warningBufferTokens,
} from "../tokens/limits.ts";
import type { Thresholds } from "../tokens/thresholds.ts";
import type { Numbers } from "./numbers.ts";

/** How each threshold comes about, in figures: each line, reckoned out, gives the threshold (a test does that). */
export function arithmeticOf(numbers: Numbers): { readonly [Name in keyof Thresholds]: string } {
  const { thresholds, compactPercent, autoCompact } = numbers;
  const { window, effective, outputReserve, limit } = thresholds;
  const scaled = scaledFor(window);
  const buffered = `${figure(effective)} − ${scaled(figure(compactBufferTokens))}`;
  const warning = `max(0, ${figure(limit)} − ${scaled(figure(warningBufferTokens))})`;
  return {
    window: figure(window),
    outputReserve: scaled(`min(${figure(numbers.outputTokensMax.tokens)}, ${figure(outputReserveTokensMax)})`),
    effective: `${figure(window)} − ${figure(outputReserve)}`,
    compact:
      compactPercent === undefined
        ? buffered
        : `min(${buffered}, floor(${figure(effective)} × ${compactPercent} / 100))`,
    limit: figure(autoCompact === "on" ? thresholds.compact : effective),
    warning,
    error: warning,
    blocking:
      numbers.blockingTokens === undefined
        ? `${figure(window)} − ${scaled(figure(blockingBufferTokens))}`
        : figure(numbers.blockingTokens),
  };
}

const scaledFor =
  (window: number) =>
  (text: string): string =>
    window >= fullBufferWindowTokens
      ? text
      : `floor(${text} × (${figure(window)} / ${figure(fullBufferWindowTokens)}))`;

const figure = (count: number): string => count.toLocaleString("en-US");
