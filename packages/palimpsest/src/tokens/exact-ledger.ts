import type { Block } from "../schema/block.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import type { ViewWatch } from "../transcript/view-watch.ts";
import type { CategoryCount } from "./byte-counts.ts";
import { defaultRates } from "./estimate-block.ts";
import { estimateFixedPart, type FixedFigure, type FixedPart, measureFixedPart, noFixedPart } from "./fixed-part.ts";
import type { ContextLedger, ContextSize } from "./token-ledger.ts";

/**
 * The size of the context if every block can be counted exactly: nothing is learned and no count is doubted. It keeps no
 * categories.
 */
export class ExactLedger implements ContextLedger, ViewWatch {
  readonly counter: (block: Block) => number;
  readonly rates = defaultRates;
  readonly categories: ReadonlyMap<string, CategoryCount> = new Map();
  readonly doubtedUsage = undefined;
  readonly doubtedCounter = undefined;
  readonly learned = {};
  readonly fixedCountedBy = "counter";
  #fixed: FixedFigure = estimateFixedPart(measureFixedPart(noFixedPart));
  #shownTokens = 0;

  constructor(counter: (block: Block) => number) {
    this.counter = counter;
  }

  get size(): ContextSize {
    return { tokens: this.estimate, source: "usage", anchor: undefined, estimated: tokens(0) };
  }

  get estimate(): Tokens {
    return tokens(this.fixedTokens + this.#shownTokens);
  }

  estimateView(blocks: Iterable<Block>): Tokens {
    let sum: number = this.fixedTokens;
    for (const block of blocks) sum += this.counter(block);
    return tokens(sum);
  }

  get knownFixed(): FixedFigure {
    return this.#fixed;
  }

  get fixedTokens(): Tokens {
    return this.#fixed.tokens;
  }

  carries(part: FixedPart, counted?: FixedFigure): void {
    this.#fixed = counted ?? estimateFixedPart(measureFixedPart(part));
  }

  sendsOwn(): void {}

  reset(): void {
    this.#shownTokens = 0;
  }

  item(): void {}

  shown(block: Block): void {
    this.#shownTokens += this.counter(block);
  }

  hidden(block: Block): void {
    this.#shownTokens -= this.counter(block);
  }

  withheld(block: Block): void {
    this.hidden(block);
  }

  released(block: Block): void {
    this.shown(block);
  }
}
