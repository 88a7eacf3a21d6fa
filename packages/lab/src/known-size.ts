import { countPromptTokens, type UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Counting } from "palimpsest/internal/layers/policy";
import type { Block } from "palimpsest/internal/schema/block";
import { tokens } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { estimateBlock, uncalibratedPadding } from "palimpsest/internal/tokens/estimate-block";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";

/**
 * How large a policy takes the context to be. A policy that goes by what the provider counted last is late by everything
 * that came since; its thresholds are moved by as much as it is wrong, so that the rest of the replay need not know.
 */
export class KnownSize {
  readonly #counting: Counting;
  readonly #tokensOf: (block: Block) => number;
  onUsage: number | undefined;
  /** As the policy estimates it. */
  #since = 0;

  constructor({ counting, tokensOf }: { readonly counting: Counting; readonly tokensOf: (block: Block) => number }) {
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

  /** What was counted before says nothing any more. */
  onCompacted(): void {
    this.onUsage = undefined;
    this.#since = 0;
  }

  shiftThresholds(thresholds: Thresholds, contextTokens: number): Thresholds {
    const known = this.#known(contextTokens);
    const wrong = contextTokens - known;
    const { compact, warning } = thresholds;
    return wrong === 0
      ? thresholds
      : { ...thresholds, compact: tokens(compact + wrong), warning: tokens(warning + wrong) };
  }

  #known(contextTokens: number): number {
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
    (all, entry) => ("blocks" in entry ? entry.blocks.reduce((so, block) => so + count(block), all) : all),
    0,
  );
