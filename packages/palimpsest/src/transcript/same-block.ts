import type { Block } from "../schema/block.ts";

/** The same bytes. Blocks of a view are values that stay the same objects, until a change of structure makes some anew. */
export const sameBlock = (one: Block, other: Block | undefined): boolean =>
  one === other || (other !== undefined && !differInText(one, other) && JSON.stringify(one) === JSON.stringify(other));

/** Told without writing them out: nearly all that differ are a result and its marker. */
function differInText(one: Block, other: Block): boolean {
  if (one.type !== other.type) return true;
  if (one.type !== "tool_result" || other.type !== "tool_result") return false;
  return typeof one.content === "string" && typeof other.content === "string" && one.content !== other.content;
}
