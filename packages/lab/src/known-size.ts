import { promptTokensOf, type UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Counting } from "palimpsest/internal/layers/policy";
import type { Block } from "palimpsest/internal/schema/block";
import { tokens } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { estimateBlock, uncalibratedPadding } from "palimpsest/internal/tokens/estimate";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";

/**
 * How large a policy takes the context to be. A policy that goes by what the provider counted last is late by everything
 * that came since; its thresholds are moved by as much as it is wrong, so that the rest of the replay need not know.
 */
export class KnownSize {
  readonly #counting: Counting;
  readonly #tokensOf: (block: Block) => number;
  #counted: number | undefined;
  /** As the policy estimates it. */
  #since = 0;

  constructor({ counting, tokensOf }: { readonly counting: Counting; readonly tokensOf: (block: Block) => number }) {
    this.#counting = counting;
    this.#tokensOf = tokensOf;
  }

  counted(usage: UsageSplit): void {
    const { inputTokens, cacheReadTokens } = usage;
    this.#counted = this.#counting === "usage-without-writes" ? inputTokens + cacheReadTokens : promptTokensOf(usage);
    this.#since = 0;
  }

  /** The provider counts a reply with its request. */
  replied(reply: readonly Entry[]): void {
    if (this.#counted !== undefined) this.#counted += sum(reply, this.#tokensOf);
  }

  said(entries: readonly Entry[]): void {
    if (this.#counting === "usage-and-padded-estimate")
      this.#since += uncalibratedPadding * sum(entries, estimateBlock);
  }

  /** What was counted before says nothing any more. */
  compacted(): void {
    this.#counted = undefined;
    this.#since = 0;
  }

  shifted(thresholds: Thresholds, contextTokens: number): Thresholds {
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
        return this.#counted ?? 0;
      case "usage-and-quarter-characters":
      case "usage-without-writes":
        return this.#counted ?? contextTokens;
      case "usage-and-padded-estimate":
        return this.#counted === undefined ? contextTokens : this.#counted + this.#since;
      case "usage-and-calibrated-estimate":
        return contextTokens;
    }
  }
}

const sum = (entries: readonly Entry[], count: (block: Block) => number): number =>
  entries.reduce(
    (all, entry) => ("blocks" in entry ? entry.blocks.reduce((so, block) => so + count(block), all) : all),
    0,
  );
