import { plural } from "../../text/format-count.ts";

/** Whole tokens with separators, for the text of receipts. */
export const formatTokenCount = (count: number): string => Math.round(count).toLocaleString("en-US");

/** `1 result`, `2 results`. */
export const formatResultCount = (count: number): string => `${count} ${plural(count, "result")}`;
