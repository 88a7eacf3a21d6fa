import type { PricedClear } from "../cache/clear-price.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";

/** Their order is that of `layers.ts`. */
export type LayerName =
  | "truncate"
  | "snip"
  | "clear.size"
  | "clear.idle"
  | "clear.cacheEdits"
  | "clear.price"
  | "collapse"
  | "compact";

/** What a layer would do to the view, and what that costs. In tokens of the context as it is counted. */
export interface Candidate {
  readonly layer: LayerName;
  readonly removesTokens: number;
  /** What survives behind the first change and has to be written again; 0 where the cache is cold or is edited itself. */
  readonly behindTokens: number;
  /** `by-id`: every byte comes back by its id. `summarised`: also, and until then a summary speaks for it. */
  readonly loss: "by-id" | "summarised";
  readonly needs: "nothing" | "model";
  readonly act: Act;
  /** For receipts: the arithmetic in words, one line. */
  readonly because: string;
}

export type Act =
  | {
      readonly kind: "clear";
      /** `asked`: the user wants it. */
      readonly cause: "size" | "idle" | "price" | "asked";
      readonly results: readonly ToolUseId[];
      readonly marker: "plain" | "named";
      readonly priced?: PricedClear;
    }
  /** Deleted by reference in the provider's cache; the messages stay. */
  | { readonly kind: "delete-in-cache"; readonly results: readonly ToolUseId[] }
  | { readonly kind: "snip"; readonly entries: readonly EntryId[] }
  | { readonly kind: "collapse"; readonly from: EntryId; readonly to: EntryId; readonly shown: string }
  | { readonly kind: "compact"; readonly trigger: "limit" | "threshold" | "price" };
