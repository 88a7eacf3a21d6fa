import { countPromptTokens, type UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { CountingMethod } from "palimpsest/internal/layers/policy";
import type { Block } from "palimpsest/internal/schema/block";
import { tokens } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { estimateBlock, uncalibratedPadding } from "palimpsest/internal/tokens/estimate-block";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";

/**
 * The size of the context as a policy sees it. A policy that uses the provider's last count misses everything since then;
 * its thresholds are shifted by this error, so that the rest of the replay need not know about it.
 */
export class KnownSize {
  readonly #counting: CountingMethod;
  readonly #tokensOf: (block: Block) => number;
  onUsage: number | undefined;
  /** The policy's estimate of what was added since the last count. */
  #since = 0;

  constructor({
    counting,
    tokensOf,
  }: {
    readonly counting: CountingMethod;
    readonly tokensOf: (block: Block) => number;
  }) {
    this.#counting = counting;
    this.#tokensOf = tokensOf;
  }

  counted(usage: UsageSplit): void {
    const { inputTokens, cacheReadTokens } = usage;
    this.onUsage = this.#counting === "usage-without-writes" ? inputTokens + cacheReadTokens : countPromptTokens(usage);
    this.#since = 0;
  }

  /** The provider counts a reply with its request. */
  onReply(reply: readonly Entry[]): void {
    if (this.onUsage !== undefined) this.onUsage += sumBlocks(reply, this.#tokensOf);
  }

  onEntries(entries: readonly Entry[]): void {
    if (this.#counting === "usage-and-padded-estimate")
      this.#since += uncalibratedPadding * sumBlocks(entries, estimateBlock);
  }

  /** The last count is no longer valid. */
  onCompacted(): void {
    this.onUsage = undefined;
    this.#since = 0;
  }

  shiftThresholds(thresholds: Thresholds, contextTokens: number): Thresholds {
    const error = contextTokens - this.#knownTokens(contextTokens);
    const { compact, warning } = thresholds;
    return error === 0
      ? thresholds
      : { ...thresholds, compact: tokens(compact + error), warning: tokens(warning + error) };
  }

  #knownTokens(contextTokens: number): number {
    switch (this.#counting) {
      case "usage":
        return this.onUsage ?? 0;
      case "usage-and-quarter-characters":
      case "usage-without-writes":
        return this.onUsage ?? contextTokens;
      case "usage-and-padded-estimate":
        return this.onUsage === undefined ? contextTokens : this.onUsage + this.#since;
      case "usage-and-calibrated-estimate":
        return contextTokens;
    }
  }
}

const sumBlocks = (entries: readonly Entry[], count: (block: Block) => number): number =>
  entries.reduce(
    (total, entry) => ("blocks" in entry ? entry.blocks.reduce((sum, block) => sum + count(block), total) : total),
    0,
  );
