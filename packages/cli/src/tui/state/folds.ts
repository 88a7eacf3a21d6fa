import { type ChatItem, isFoldable, type ItemId } from "./chat-item.ts";

/** Beside the items, which do not change when a person unfolds one. */
export interface Folds {
  /** How every item is that `others` does not name. */
  readonly rest: "folded" | "unfolded";
  readonly others: ReadonlySet<ItemId>;
}

export type FoldAct =
  /** Turns one item over. */
  | { readonly kind: "fold"; readonly item: ItemId }
  /** Turns all of them over, and forgets what was done to single ones. */
  | { readonly kind: "fold-all" };

export function afterFold({ rest, others }: Folds, act: FoldAct): Folds {
  if (act.kind === "fold-all") return { rest: rest === "folded" ? "unfolded" : "folded", others: new Set() };
  return { rest, others: others.symmetricDifference(new Set([act.item])) };
}

export function isUnfolded({ rest, others }: Folds, item: ChatItem): boolean {
  if (!isFoldable(item)) return true;
  return (rest === "unfolded") !== others.has(item.id);
}
