import { plural } from "../../schema/plural.ts";

/** Whole tokens, with separators: for the words of receipts. */
export const tokenFigure = (count: number): string => Math.round(count).toLocaleString("en-US");

/** `1 result`, `2 results`. */
export const resultCount = (count: number): string => `${count} ${plural(count, "result")}`;
