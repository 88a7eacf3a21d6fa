/** `1 line`, `2 lines`, `0 matches`. */
export const countWords = (
  count: number,
  noun: "byte" | "character" | "file" | "line" | "match" | "more line",
): string => `${count} ${noun}${count === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
