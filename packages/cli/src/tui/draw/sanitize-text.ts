import { toPrintable } from "palimpsest/internal/text/to-printable";
import { tabColumns } from "../limits.ts";

/**
 * Makes an untrusted text safe to lay out: every character has a width, and none controls the terminal. Colours are removed;
 * other escape sequences, and characters that hide or reorder text, are shown as codes. Characters that join emoji or
 * letters stay. A text without special characters costs one regular expression test.
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

/** The same for a single line. */
export const sanitizeLine = (text: string): string => sanitizeText(text).replaceAll(/\s+/g, " ").trim();

/** For our own text that quotes untrusted text: colours stay, other control characters do not. */
export const sanitizeExceptColours = (text: string): string =>
  text
    .split(colourPart)
    .map((part, index) => (index % 2 === 1 ? part : sanitizeText(part)))
    .join("");

export const stripColours = (text: string): string => text.replaceAll(colourSequence, "");

/** Removes an escape sequence that was cut off at the end of the line. */
export const stripHalfSequence = (line: string): string => line.replace(halfSequence, "");

const needsSanitizing = /[^\n\u0020-\u007E]/;

const escapeCharacter = "\u001B";
const colourPart = new RegExp(String.raw`(${escapeCharacter}\[[\d;:]*m)`);
const halfSequence = new RegExp(`${escapeCharacter}[^${escapeCharacter}m]*$`);

/** SGR sequences, which only change how text looks. */
const colourSequence = new RegExp(String.raw`${escapeCharacter}\[[\d;:]*m`, "g");
