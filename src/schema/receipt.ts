import type { EntryId, Tokens } from "./brand.ts";

/**
 * What one change of the view did. Every entry that either view shows is in exactly one class:
 *   kept        shown as before
 *   stubbed     shown by less than before
 *   summarised  no longer shown; a summary or stand-in speaks for it
 *   dropped     no longer shown
 *   added       shown now for the first time: the summary, a stand-in
 *   restored    shown again, or in full again
 */
export type ReceiptClass = "kept" | "stubbed" | "summarised" | "dropped" | "added" | "restored";

export interface ReceiptLine {
  readonly entry: EntryId;
  readonly class: ReceiptClass;
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
}

export interface Receipt {
  readonly edits: readonly EntryId[];
  readonly cause: string;
  readonly lines: readonly ReceiptLine[];
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
  /** Tokens behind the first change: what a warm cache has to write again. */
  readonly tokensBehind: Tokens;
  readonly price: ReceiptPrice;
}

/** In input tokens: what reading one uncached token costs is 1. Money is this times the model's price. */
export interface ReceiptPrice {
  readonly writeRate: number;
  readonly readRate: number;
  /** Extra cost of the next request on a warm cache; negative where it is cheaper at once. */
  readonly now: number;
  /** Saved in every later round; negative for a change that shows more. */
  readonly perRound: number;
  /** Rounds after which the change has paid for itself; absent where it never does. */
  readonly breakEvenRounds?: number;
}
