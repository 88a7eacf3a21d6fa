import { plural } from "palimpsest/internal/schema/plural";

/** `1 line`, `2 lines`: for the model, which reads figures without separators. */
export const countWords = (
  count: number,
  noun: "byte" | "character" | "file" | "line" | "match" | "more line",
): string => `${count} ${plural(count, noun)}`;
