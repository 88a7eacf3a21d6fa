/** The noun that goes with a count: `1 line`, `2 lines`, `0 matches`. */
export const plural = (count: number, noun: string): string =>
  count === 1 ? noun : `${noun}${noun.endsWith("ch") ? "es" : "s"}`;
