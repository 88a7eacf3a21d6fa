import { truncateToWidth } from "@earendil-works/pi-tui";
import { formatCount } from "palimpsest/internal/schema/format-count";
import { toPrintable } from "palimpsest/internal/schema/to-printable";
import { safeCutIndex } from "palimpsest/internal/schema/safe-cut-index";
import { wrapText } from "../draw/wrap-text.ts";
import { drawMarkdown } from "../draw/draw-markdown.ts";
import { sanitizeLine, sanitizeText } from "../draw/sanitize-text.ts";
import type { Paint, Theme } from "../theme.ts";
import { dialogBodyCharsMax, dialogLineCharsMax } from "../limits.ts";

/** A text for a terminal of some width. Drawn anew only where the width or the function is another. */
export type RenderLines = (width: number) => readonly string[];

/** In one line, cut. */
export const singleLine = (text: string): string => sanitizeLine(truncate(text, dialogLineCharsMax));

const truncate = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, safeCutIndex(text, charsMax))}…`;

interface TextStyle {
  readonly theme: Theme;
  /** Before the first line; the others are indented as far. */
  readonly first?: string;
  readonly paint?: Paint;
}

/** Somebody's words. */
export const textLines = (text: string, { theme, first = "", paint }: TextStyle): RenderLines =>
  withCutNote(text, {
    theme,
    lines: (shown) => (width) => wrapText(shown, { width, theme, first, ...paintOption(paint) }),
  });

/** What would be run, written or asked, letter by letter: nothing in it is left out or joined. */
export const exactLines = (text: string, worded: TextStyle): RenderLines =>
  textLines(toPrintable(text.replaceAll("\r\n", "\n")), worded);

export const markdownLines = (text: string, theme: Theme): RenderLines =>
  withCutNote(text, { theme, lines: (shown) => (width) => drawMarkdown(shown, { width, theme }) });

export const stackLines =
  (parts: readonly RenderLines[]): RenderLines =>
  (width) =>
    parts.flatMap((lines) => lines(width));

/** Of lines that are drawn already: whatever is in them besides colours is made printable. */
export const readyLines = (lines: readonly string[]): RenderLines => {
  const clean = lines.map((line) =>
    line
      // oxlint-disable-next-line no-control-regex
      .split(/(\u001B\[[\d;]*m)/)
      .map((part, index) => (index % 2 === 1 ? part : sanitizeText(part).replaceAll("\n", " ")))
      .join(""),
  );
  return (width) => clean.map((line) => truncateToWidth(line, width, "…"));
};

/** What is beyond the limit is counted, so that nobody decides on half of a text unknowing. */
function withCutNote(
  text: string,
  { theme, lines }: { readonly theme: Theme; readonly lines: (shown: string) => RenderLines },
): RenderLines {
  if (text.length <= dialogBodyCharsMax) return lines(text);
  const shown = text.slice(0, safeCutIndex(text, dialogBodyCharsMax));
  const note = `${formatCount(text.length - shown.length)} characters more are not shown`;
  return stackLines([lines(shown), (width) => wrapText(note, { width, theme, first: "! ", paint: theme.warning })]);
}

const paintOption = (paint: Paint | undefined): { readonly paint?: Paint } => (paint === undefined ? {} : { paint });
