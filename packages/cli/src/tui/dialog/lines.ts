import { truncateToWidth } from "@earendil-works/pi-tui";
import { figure } from "palimpsest/internal/schema/figure";
import { printable } from "palimpsest/internal/schema/printable";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import { hung } from "../draw/lines.ts";
import { drawMarkdown } from "../draw/markdown.ts";
import { shownLine, shownText } from "../draw/shown-text.ts";
import type { Paint, Theme } from "../theme/theme.ts";
import { bodyCharsMax, lineCharsMax } from "./limits.ts";

/** A text for a terminal of some width. Drawn anew only where the width or the function is another. */
export type Lines = (width: number) => readonly string[];

/** In one line, cut. */
export const titleLine = (text: string): string => shownLine(cutAt(text, lineCharsMax));

const cutAt = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, wholeCharacter(text, charsMax))}…`;

export interface Worded {
  readonly theme: Theme;
  /** Before the first line; the others are indented as far. */
  readonly first?: string;
  readonly paint?: Paint;
}

/** Somebody's words. */
export const words = (text: string, { theme, first = "", paint }: Worded): Lines =>
  withNote(text, { theme, lines: (shown) => (width) => hung(shown, { width, theme, first, ...painted(paint) }) });

/** What would be run, written or asked, letter by letter: nothing in it is left out or joined. */
export const exactly = (text: string, worded: Worded): Lines => words(printable(text.replaceAll("\r\n", "\n")), worded);

export const markdown = (text: string, theme: Theme): Lines =>
  withNote(text, { theme, lines: (shown) => (width) => drawMarkdown(shown, { width, theme }) });

export const stacked =
  (parts: readonly Lines[]): Lines =>
  (width) =>
    parts.flatMap((lines) => lines(width));

/** Of lines that are drawn already: whatever is in them besides colours is made printable. */
export const readyLines = (lines: readonly string[]): Lines => {
  const clean = lines.map((line) =>
    line
      // oxlint-disable-next-line no-control-regex
      .split(/(\u001B\[[\d;]*m)/)
      .map((part, index) => (index % 2 === 1 ? part : shownText(part).replaceAll("\n", " ")))
      .join(""),
  );
  return (width) => clean.map((line) => truncateToWidth(line, width, "…"));
};

interface Noting {
  readonly theme: Theme;
  readonly lines: (shown: string) => Lines;
}

/** What is beyond the limit is counted, so that nobody decides on half of a text unknowing. */
function withNote(text: string, { theme, lines }: Noting): Lines {
  if (text.length <= bodyCharsMax) return lines(text);
  const shown = text.slice(0, wholeCharacter(text, bodyCharsMax));
  const note = `${figure(text.length - shown.length)} characters more are not shown`;
  return stacked([lines(shown), (width) => hung(note, { width, theme, first: "! ", paint: theme.warning })]);
}

const painted = (paint: Paint | undefined): { readonly paint?: Paint } => (paint === undefined ? {} : { paint });
