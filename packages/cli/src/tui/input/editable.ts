import { printable } from "palimpsest/internal/schema/printable";

/**
 * A text as it may stand in pi-tui's editor, which draws whatever it holds: what drives a terminal or turns the order round
 * is spelled out. A tab is spaces of a kind that nobody types, so that `asTyped` knows it again: a Makefile must reach the
 * model as it is.
 */
export const editable = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(undrawable, printable)
    .replaceAll("\t", shownTab);

/** What a person sends who has this in the editor. Of a tab that was deleted in part spaces are left. */
export const asTyped = (text: string): string =>
  text.replaceAll(shownTab, "\t").replaceAll(/\u2002+/g, (spaces) => " ".repeat(spaces.length));

/** Whether it can be put into the editor as it is: spelled out, a name is the name of another file. */
export const isEditable = (text: string): boolean => !/[\n\r\u2028\u2029]/.test(text) && text.search(undrawable) === -1;

const shownTab = "\u2002".repeat(4);
const undrawable = /(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu;
