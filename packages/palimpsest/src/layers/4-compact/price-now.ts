import { type CompactSize, priceCompact, readableTokens } from "../../cache/compact-price.ts";
import type { CompactionState, PipelineState } from "../pipeline-state.ts";
import type { CompactRule } from "../policy.ts";

export interface PriceNowInput extends Pick<PipelineState, "inventory" | "prefixes" | "moment"> {
  readonly rule: CompactRule;
  readonly size: CompactSize;
  /** Of what would stay as it is: pins, and what waits for its answer. */
  readonly keptTokens: number;
  readonly rent: number;
}

/** What compacting would cost now: a session that runs and one that is replayed reckon with the same. */
export function compactionNow({ rule, size, keptTokens, rent, ...now }: PriceNowInput): CompactionState {
  const { rates, contextTokens, fixedTokens } = now.moment;
  const price = priceCompact({
    rates,
    contextTokens,
    fixedTokens,
    cachedTokens: rule.call === "fork" ? readableTokens(now) : 0,
    leavesTokens: size.leavesTokens + keptTokens,
    outputTokens: size.outputTokens,
    lossCost: rule.lossCost ?? 0,
  });
  return { price, rent };
}
