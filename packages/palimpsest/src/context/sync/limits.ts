/** Hexadecimal digits of a digest: 96 bits, so that no two items of any conversation share one by accident. */
export const digestChars = 24;

/** Items that a conversation recognises, on all of its branches: a year of work. Then only the newest branch stays. */
export const knownItemsMax = 200_000;

/** Texts that replace at least so many more items are a summary: a question and its answer are gone. Else they are edited messages. */
export const roundItemsMin = 2;
