import type { Undone } from "palimpsest/internal/session/undo";
import { oneLine } from "./human.ts";
import { receiptText } from "./receipt-text.ts";
import type { Style } from "./style.ts";

/** What came back, edit by edit, and what that costs. */
export function undoneText({ said, edits, receipts }: Extract<Undone, { kind: "undone" }>, style: Style): string {
  const texts = edits.map(({ edit, id }, at) => {
    const receipt = receipts[at];
    return `undone: ${edit.type} ${oneLine(id)}\n${receipt === undefined ? "" : receiptText(receipt, style)}`;
  });
  return [...said.map((line) => `${oneLine(line)}\n`), ...texts].join("");
}

/** Where a session goes on behind a branch. */
export const branchedWhere = ({ before: { edit, id } }: Extract<Undone, { kind: "branched" }>): string =>
  edit.type === "branch" ? "where it was before the branch" : `from before ${edit.type} ${oneLine(id)}`;
