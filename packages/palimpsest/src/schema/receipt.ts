import { z } from "zod";
import { type EntryId, type Tokens, tokens } from "./brand.ts";
import type { Json } from "./json.ts";

/**
 * What one change of the view did. Every entry that either view shows is in exactly one class:
 *   kept        shown as before
 *   stubbed     shown with less content than before
 *   summarised  no longer shown; a summary or stand-in replaces it
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

/** The cause of an edit that only follows what the caller did to its own list. */
export const callerCause = "caller";

export interface Receipt {
  readonly edits: readonly EntryId[];
  readonly cause: string;
  /** The reason, in one sentence for the user. */
  readonly because?: string;
  /** The arithmetic behind the reason. */
  readonly figures?: ReceiptFigures;
  readonly lines: readonly ReceiptLine[];
  readonly tokensBefore: Tokens;
  readonly tokensAfter: Tokens;
  /** Tokens after the first change: what a warm cache has to write again. */
  readonly tokensBehind: Tokens;
  readonly price: ReceiptPrice;
}

/** The planner's figures by name, in input tokens; names that end in `Rounds` count rounds. docs/planner.md has them. */
export type ReceiptFigures = Readonly<Record<string, number>>;

/** In units of one uncached input token. Multiplied by the model's price this is money. */
export interface ReceiptPrice {
  readonly writeRate: number;
  readonly readRate: number;
  /**
   * Extra cost of the next request, on a warm cache unless the change was made on a cold one; negative if it is cheaper
   * at once.
   */
  readonly now: number;
  /** Saved in every later round; negative for a change that shows more. */
  readonly perRound: number;
  /** Rounds after which the change has paid for itself; absent if it never does. */
  readonly breakEvenRounds?: number;
}

/** The part of a receipt that the log stores with the edit. */
export interface RecordedReceipt extends Pick<
  Receipt,
  "cause" | "because" | "figures" | "tokensBefore" | "tokensAfter" | "price"
> {
  /** Number of entries of each class. */
  readonly entries: Readonly<Record<string, number>>;
}

const recordedReceiptShape = z.object({
  cause: z.string(),
  because: z.string().optional(),
  /** For display: a wrong value is ignored. */
  figures: z.record(z.string(), z.number()).optional().catch(undefined),
  tokensBefore: z.number().transform(tokens),
  tokensAfter: z.number().transform(tokens),
  price: z.object({
    writeRate: z.number(),
    readRate: z.number(),
    now: z.number(),
    perRound: z.number(),
    breakEvenRounds: z.number().optional(),
  }),
  entries: z.record(z.string(), z.number()).default({}),
});

/** Undefined if the field holds no valid receipt. */
export function readReceipt(field: Json | undefined): RecordedReceipt | undefined {
  const read = recordedReceiptShape.safeParse(field);
  if (!read.success) return undefined;
  const { because, figures, price, ...rest } = read.data;
  const { breakEvenRounds, ...rates } = price;
  return {
    ...rest,
    ...(because === undefined ? {} : { because }),
    ...(figures === undefined ? {} : { figures }),
    price: { ...rates, ...(breakEvenRounds === undefined ? {} : { breakEvenRounds }) },
  };
}
