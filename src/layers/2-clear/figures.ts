/** Whole tokens, with separators: for the words of receipts. */
export const tokenFigure = (count: number): string => Math.round(count).toLocaleString("en-US");
