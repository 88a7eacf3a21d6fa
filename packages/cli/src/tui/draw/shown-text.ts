import { printable } from "palimpsest/internal/schema/printable";
import { tabColumns } from "./limits.ts";

/**
 * A text of others, ready to be laid out: every character in it has a width and none drives the terminal. Colours that a
 * program gave its output are left out; every other sequence, and whatever hides or reorders, can be seen as its code. What
 * joins an emoji, or letters of scripts that need it, stays. Costs one look at a text without such characters.
 */
export function shownText(text: string): string {
  if (!hasOther.test(text)) return text;
  return printable(
    text
      .toWellFormed()
      .replaceAll(colourSequence, "")
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll("\t", " ".repeat(tabColumns)),
  );
}

/** The same where one line is expected. */
export const shownLine = (text: string): string => shownText(text).replaceAll(/\s+/g, " ").trim();

/** A text of ours that quotes others: its colours stay, and nothing else that drives the terminal. */
export const colouredText = (text: string): string =>
  text
    .split(colourPart)
    .map((part, index) => (index % 2 === 1 ? part : shownText(part)))
    .join("");

export const withoutColours = (text: string): string => text.replaceAll(colourSequence, "");

/** A line that was cut may end within a sequence: then without it. */
export const withoutHalfSequence = (line: string): string => line.replace(halfSequence, "");

const hasOther = /[^\n\u0020-\u007E]/;

const escape = "\u001B";
const colourPart = new RegExp(String.raw`(${escape}\[[\d;:]*m)`);
const halfSequence = new RegExp(`${escape}[^${escape}m]*$`);

/** SGR, which changes how text looks and nothing else. */
const colourSequence = new RegExp(String.raw`${escape}\[[\d;:]*m`, "g");
