import { tokens, type Tokens } from "../schema/brand.ts";
import {
  blockingBufferTokens,
  compactBufferTokens,
  fullBufferWindowTokens,
  outputReserveTokensMax,
  warningBufferTokens,
} from "./limits.ts";

/**
 * The thresholds of a window:
 *   effective = window − output reserve        compact  = effective − 13,000
 *   limit     = compaction on ? compact : effective
 *   warning   = error = limit − 20,000         blocking = window − 3,000
 * Below 100,000 every number but the window shrinks by window / 100,000.
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

export interface ThresholdInputs {
  readonly window: Tokens;
  readonly outputTokensMax: Tokens;
  readonly autoCompact: "on" | "off";
  /** Share of the effective window at which compaction fires; it can only lower the threshold. */
  readonly compactPercent?: number | undefined;
  readonly blockingTokens?: Tokens | undefined;
}

export function thresholdsOf(inputs: ThresholdInputs): Thresholds {
  const { window } = inputs;
  const scale = Math.min(1, window / fullBufferWindowTokens);
  const scaled = (buffer: number): number => Math.floor(buffer * scale);
  const outputReserve = scaled(Math.min(inputs.outputTokensMax, outputReserveTokensMax));
  const effective = window - outputReserve;
  const compact = Math.min(effective - scaled(compactBufferTokens), percentOf(effective, inputs.compactPercent));
  const limit = inputs.autoCompact === "on" ? compact : effective;
  const warning = Math.max(0, limit - scaled(warningBufferTokens));
  return {
    window,
    outputReserve: tokens(outputReserve),
    effective: tokens(effective),
    compact: tokens(compact),
    limit: tokens(limit),
    warning: tokens(warning),
    error: tokens(warning),
    blocking: inputs.blockingTokens ?? tokens(window - scaled(blockingBufferTokens)),
  };
}

const isPercent = (value: number): boolean => value > 0 && value <= 100;

const percentOf = (effective: number, percent: number | undefined): number =>
  percent === undefined || !isPercent(percent) ? Infinity : Math.floor((effective * percent) / 100);

/** Each on its own: one does not follow from another where overrides are in force. */
export interface Pressure {
  readonly percentLeft: number;
  readonly warning: boolean;
  readonly error: boolean;
  readonly compact: boolean;
  readonly blocking: boolean;
}

export function pressureOf(used: Tokens, thresholds: Thresholds, autoCompact: "on" | "off"): Pressure {
  const { limit, warning, error, compact, blocking } = thresholds;
  return {
    percentLeft: limit <= 0 ? 0 : Math.max(0, Math.round(((limit - used) / limit) * 100)),
    warning: used >= warning,
    error: used >= error,
    compact: autoCompact === "on" && used >= compact,
    blocking: used >= blocking,
  };
}

/** What may be asked for in one reply, where the model refuses input and output together over the window. */
export const outputTokensFor = (asked: Tokens, used: Tokens, thresholds: Thresholds): Tokens =>
  tokens(Math.max(1, Math.min(asked, thresholds.window - used - (thresholds.window - thresholds.blocking))));
