import { toPrintable } from "palimpsest/internal/schema/to-printable";

/**
 * A text as it may stand in pi-tui's editor, which draws whatever it holds: what drives a terminal or turns the order round
 * is spelled out. A tab is spaces of a kind that nobody types, so that `asTyped` knows it again: a Makefile must reach the
 * model as it is.
 */
export const toEditable = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(undrawable, toPrintable)
    .replaceAll("\t", tabPlaceholder);

/** What a person sends who has this in the editor. Of a tab that was deleted in part spaces are left. */
export const fromEditable = (text: string): string =>
  text.replaceAll(tabPlaceholder, "\t").replaceAll(/\u2002+/g, (spaces) => " ".repeat(spaces.length));

/** Whether it can be put into the editor as it is: spelled out, a name is the name of another file. */
export const isEditable = (text: string): boolean => !/[\n\r\u2028\u2029]/.test(text) && text.search(undrawable) === -1;

const tabPlaceholder = "\u2002".repeat(4);
const undrawable = /(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;

/** What a terminal puts around a paste, once it was asked to. */
export const pasteStart = "\u001B[200~";
export const pasteEnd = "\u001B[201~";
