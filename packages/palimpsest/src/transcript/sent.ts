import { type Block, passedRoles } from "../schema/block.ts";

/** Does the API take the block in a turn of this role? */
export function isSent(block: Block, role: "user" | "assistant"): boolean {
  switch (block.type) {
    case "text":
      return true;
    case "tool_use":
    case "thinking":
    case "redacted_thinking":
      return role === "assistant";
    case "tool_result":
      return role === "user";
    case "unknown":
      return false;
    default:
      return passedRoles[block.type] === role;
  }
}

export const isThinking = (block: Block | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** The API refuses text without a visible character; leaving it out loses nothing. */
export const isEmptyText = (block: Block): boolean => block.type === "text" && block.text.trim() === "";

export const leftOutDetail = (block: Block, role: "user" | "assistant"): string => {
  if (block.type === "unknown") return "a block the API does not take back";
  return isSent(block, role)
    ? `a ${block.type} block lacks what the API asks of it`
    : `a ${block.type} block does not belong in this turn`;
};
