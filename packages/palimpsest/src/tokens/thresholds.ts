import { tokens, type Tokens } from "../schema/brand.ts";
import { fullBufferWindowTokens } from "./limits.ts";

/** A policy's buffers, in tokens. */
export interface ThresholdRule {
  /** At most this much is kept free for the reply. */
  readonly outputReserveTokensMax: number;
  readonly compactBufferTokens: number;
  /** Distance below the limit; absent: no warning. */
  readonly warningBufferTokens?: number;
  /** Distance below the window; absent: nothing is held back, and the provider refuses what is too long. */
  readonly blockingBufferTokens?: number;
  /**
   * For a model with a separate limit for the request. `bounds`: every threshold lies within it. `compacts`: compaction
   * fires there at the latest.
   */
  readonly inputLimit: "bounds" | "compacts" | "ignored";
}

/**
 * The thresholds of a window, by the policy's buffers:
 *   effective = window − output reserve        compact  = effective − compact buffer
 *   limit     = compaction on ? compact : effective
 *   warning   = error = limit − warning buffer blocking = window − blocking buffer
 * If the policy lets the model's input limit bound them, effective is at most that limit, and blocking is computed from
 * it if it is smaller than the window. If the bound (the window or that input limit) is below 100,000, every buffer and
 * reserve shrinks by bound / 100,000. A threshold that the policy does not have is infinite: nothing ever reaches it.
 */
export interface Thresholds {
  readonly window: Tokens;
  readonly outputReserve: Tokens;
  readonly effective: Tokens;
  readonly compact: Tokens;
  readonly limit: Tokens;
  readonly warning: Tokens;
  readonly error: Tokens;
  readonly blocking: Tokens;
}

interface ThresholdInputs {
  readonly rule: ThresholdRule;
  readonly window: Tokens;
  readonly outputTokensMax: Tokens;
  /** The model's limit for the request alone, if it is smaller than the window. */
  readonly inputTokensMax?: Tokens | undefined;
  readonly autoCompact: "on" | "off";
  /** Share of the effective window at which compaction fires; it can only lower the threshold. */
  readonly compactPercent?: number | undefined;
  readonly blockingTokens?: Tokens | undefined;
}

export function computeThresholds(inputs: ThresholdInputs): Thresholds {
  const { window, rule } = inputs;
  const bound = inputBound(inputs);
  const { scaled, below } = scaleBuffers(bound);
  const outputReserve = scaled(Math.min(inputs.outputTokensMax, rule.outputReserveTokensMax));
  const effective = Math.min(window - outputReserve, bound);
  const inputLimit = rule.inputLimit === "compacts" ? (inputs.inputTokensMax ?? Infinity) : Infinity;
  const buffered = effective - scaled(rule.compactBufferTokens);
  const compact = Math.min(buffered, inputLimit, percentThreshold(effective, inputs.compactPercent));
  const blocking = below(bound, rule.blockingBufferTokens);
  const limit = inputs.autoCompact === "on" ? compact : Math.min(effective, blocking);
  const warning = Math.max(0, below(limit, rule.warningBufferTokens));
  return {
    window,
    outputReserve: tokens(outputReserve),
    effective: tokens(effective),
    compact: tokens(compact),
    limit: tokens(limit),
    warning: tokens(warning),
    error: tokens(warning),
    blocking: inputs.blockingTokens ?? tokens(blocking),
  };
}

/** The most that a request may hold: the window, or the model's input limit if the policy respects it. */
export const inputBound = ({
  rule,
  window,
  inputTokensMax = window,
}: Pick<ThresholdInputs, "rule" | "window" | "inputTokensMax">): Tokens =>
  rule.inputLimit === "bounds" && inputTokensMax < window ? inputTokensMax : window;

function scaleBuffers(window: number): {
  readonly scaled: (buffer: number) => number;
  readonly below: (from: number, buffer: number | undefined) => number;
} {
  const scale = Math.min(1, window / fullBufferWindowTokens);
  const scaled = (buffer: number): number => Math.floor(buffer * scale);
  return { scaled, below: (from, buffer) => (buffer === undefined ? Infinity : from - scaled(buffer)) };
}

const isPercent = (value: number): boolean => value > 0 && value <= 100;

const percentThreshold = (effective: number, percent: number | undefined): number =>
  percent === undefined || !isPercent(percent) ? Infinity : Math.floor((effective * percent) / 100);

/** The flags are independent: with overrides, one does not follow from another. */
export interface Pressure {
  readonly percentLeft: number;
  readonly warning: boolean;
  readonly error: boolean;
  readonly compact: boolean;
  readonly blocking: boolean;
}

export function computePressure(used: Tokens, thresholds: Thresholds, autoCompact: "on" | "off"): Pressure {
  const { limit, warning, error, compact, blocking } = thresholds;
  return {
    percentLeft: limit <= 0 ? 0 : Math.max(0, Math.floor(((limit - used) / limit) * 100)),
    warning: used >= warning,
    error: used >= error,
    compact: autoCompact === "on" && used >= compact,
    blocking: used >= blocking,
  };
}

/** The output limit to request, for a model that refuses input plus output over the window. */
export const outputTokensFor = (wanted: Tokens, used: Tokens, thresholds: Thresholds): Tokens =>
  tokens(Math.max(1, Math.min(wanted, Math.min(thresholds.window, thresholds.blocking) - used)));
