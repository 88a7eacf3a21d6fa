import { toPrintable } from "palimpsest/internal/text/to-printable";

/**
 * Makes a text safe for pi-tui's editor, which draws its content unchanged: characters that control the terminal or change
 * the text direction are spelled out. A tab becomes spaces of a kind that is never typed, so that `fromEditable` can restore
 * it: a Makefile must reach the model unchanged.
 */
export const toEditable = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(undrawable, toPrintable)
    .replaceAll("\t", tabPlaceholder);

/** The text to send for this editor content. A tab that was partly deleted becomes spaces. */
export const fromEditable = (text: string): string =>
  text.replaceAll(tabPlaceholder, "\t").replaceAll(/\u2002+/g, (spaces) => " ".repeat(spaces.length));

/** Whether the editor shows it unchanged. A file name with characters spelled out would name another file. */
export const isEditable = (text: string): boolean => !/[\n\r\u2028\u2029]/.test(text) && text.search(undrawable) === -1;

const tabPlaceholder = "\u2002".repeat(4);
const undrawable = /(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

/** Sent by the terminal around a paste, in bracketed paste mode. */
export const pasteStart = "\u001B[200~";
export const pasteEnd = "\u001B[201~";
