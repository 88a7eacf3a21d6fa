/**
 * The text on one line: each run of blanks, control and invisible characters becomes one space. Text of others passes it
 * before it stands in a prompt or a message, so that none of it can look like a line of its own.
 */
export const oneLine = (text: string): string => text.replaceAll(/[\s\p{C}]+/gu, " ");
