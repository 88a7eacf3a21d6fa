import type { Block } from "../schema/block.ts";

/** Whether two blocks have the same bytes. Blocks of a view stay the same objects until a change of structure recreates some. */
export const sameBlock = (left: Block, right: Block | undefined): boolean =>
  left === right ||
  (right !== undefined && !differInText(left, right) && JSON.stringify(left) === JSON.stringify(right));

/** Avoids serialising: nearly all blocks that differ are a result and its marker. */
function differInText(left: Block, right: Block): boolean {
  if (left.type !== right.type) return true;
  if (left.type !== "tool_result" || right.type !== "tool_result") return false;
  return typeof left.content === "string" && typeof right.content === "string" && left.content !== right.content;
}
