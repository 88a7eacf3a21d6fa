import { truncateToWidth } from "@earendil-works/pi-tui";
import { formatCount } from "palimpsest/internal/text/format-count";
import { toPrintable } from "palimpsest/internal/text/to-printable";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { wrapText } from "../draw/wrap-text.ts";
import { drawMarkdown } from "../draw/draw-markdown.ts";
import { sanitizeLine, sanitizeText } from "../draw/sanitize-text.ts";
import type { Paint, Theme } from "../theme.ts";
import { dialogBodyCharsMax, dialogLineCharsMax } from "../limits.ts";

/** Lays out a text for a width. A dialog calls it again only if the width or the function has changed. */
export type RenderLines = (width: number) => readonly string[];

/** The text in one line, cut at the limit. */
export const singleLine = (text: string): string => sanitizeLine(truncate(text, dialogLineCharsMax));

const truncate = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, safeCutIndex(text, charsMax))}…`;

interface TextStyle {
  readonly theme: Theme;
  /** Before the first line; the others are indented as far. */
  readonly first?: string;
  readonly paint?: Paint | undefined;
}

export const textLines = (text: string, { theme, first = "", paint }: TextStyle): RenderLines =>
  withCutNote(text, {
    theme,
    lines: (shown) => (width) => wrapText(shown, { width, theme, first, paint }),
  });

/** For what would be run, written or fetched: special characters are spelled out, nothing is left out or joined. */
export const exactLines = (text: string, style: TextStyle): RenderLines =>
  textLines(toPrintable(text.replaceAll("\r\n", "\n")), style);

export const markdownLines = (text: string, theme: Theme): RenderLines =>
  withCutNote(text, { theme, lines: (shown) => (width) => drawMarkdown(shown, { width, theme }) });

export const stackLines =
  (parts: readonly RenderLines[]): RenderLines =>
  (width) =>
    parts.flatMap((lines) => lines(width));

/** Lines that are drawn already: everything in them but colours is made printable. */
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

/** Counts what is beyond the limit, so that the user knows that the text is incomplete. */
function withCutNote(
  text: string,
  { theme, lines }: { readonly theme: Theme; readonly lines: (shown: string) => RenderLines },
): RenderLines {
  if (text.length <= dialogBodyCharsMax) return lines(text);
  const shown = text.slice(0, safeCutIndex(text, dialogBodyCharsMax));
  const note = `${formatCount(text.length - shown.length)} characters more are not shown`;
  return stackLines([lines(shown), (width) => wrapText(note, { width, theme, first: "! ", paint: theme.warning })]);
}
