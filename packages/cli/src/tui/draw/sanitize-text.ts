import { toPrintable } from "palimpsest/internal/schema/to-printable";
import { tabColumns } from "../limits.ts";

/**
 * A text of others, ready to be laid out: every character in it has a width and none drives the terminal. Colours that a
 * program gave its output are left out; every other sequence, and whatever hides or reorders, can be seen as its code. What
 * joins an emoji, or letters of scripts that need it, stays. Costs one look at a text without such characters.
 */
export function sanitizeText(text: string): string {
  if (!needsSanitizing.test(text)) return text;
  return toPrintable(
    text
      .toWellFormed()
      .replaceAll(colourSequence, "")
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll("\t", " ".repeat(tabColumns)),
  );
}

/** The same where one line is expected. */
export const sanitizeLine = (text: string): string => sanitizeText(text).replaceAll(/\s+/g, " ").trim();

/** A text of ours that quotes others: its colours stay, and nothing else that drives the terminal. */
export const sanitizeExceptColours = (text: string): string =>
  text
    .split(colourPart)
    .map((part, index) => (index % 2 === 1 ? part : sanitizeText(part)))
    .join("");

export const stripColours = (text: string): string => text.replaceAll(colourSequence, "");

/** A line that was cut may end within a sequence: then without it. */
export const stripHalfSequence = (line: string): string => line.replace(halfSequence, "");

const needsSanitizing = /[^\n\u0020-\u007E]/;

const escapeCharacter = "\u001B";
const colourPart = new RegExp(String.raw`(${escapeCharacter}\[[\d;:]*m)`);
const halfSequence = new RegExp(`${escapeCharacter}[^${escapeCharacter}m]*$`);

/** SGR, which changes how text looks and nothing else. */
const colourSequence = new RegExp(String.raw`${escapeCharacter}\[[\d;:]*m`, "g");
