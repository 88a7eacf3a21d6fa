/** A count for people: `12,345`. */
export const figure = (count: number): string => count.toLocaleString("en-US");
