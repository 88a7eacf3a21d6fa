import { stripTerminalSequences, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import type { Paint, Theme } from "../theme.ts";
import { cutLineCharsMax } from "../limits.ts";
import { sanitizeText, stripColours, stripHalfSequence } from "./sanitize-text.ts";

export interface DrawArea {
  readonly width: number;
  readonly theme: Theme;
}

/** Cuts a line to the width. `text` may hold our own sequences; a style that is open at the cut is closed. */
export function cutLine(text: string, { width, theme }: DrawArea): string {
  const line = truncateToWidth(lineStart(text), width, "…");
  return theme.colours === "none" ? stripTerminalSequences(line) : line;
}

/** Splits no sequence and no character. */
const lineStart = (text: string): string =>
  text.length <= cutLineCharsMax ? text : stripHalfSequence(text.slice(0, safeCutIndex(text, cutLineCharsMax)));

interface WrapOptions extends DrawArea {
  /** Before the first line. */
  readonly first: string;
  /** Before all other lines, with the same width. Default: spaces. */
  readonly rest?: string;
  readonly paint?: Paint | undefined;
}

/** Wraps an untrusted text behind a mark. It is painted line by line, so that no style continues in the next one. */
export function wrapText(text: string, { width, theme, first, paint, rest }: WrapOptions): readonly string[] {
  const markWidth = visibleWidth(first);
  const indent = rest ?? " ".repeat(markWidth);
  const lines = wrapTextWithAnsi(sanitizeText(text), Math.max(1, width - markWidth));
  return lines.map((line, index) =>
    fitLine(`${index === 0 ? first : indent}${paint?.(line) ?? line}`, { width, theme }),
  );
}

/**
 * Cuts the line if it is too wide after all: the terminal would wrap it, and every line below would be off by one. Measuring
 * is expensive, so plain ASCII is only counted.
 */
export const fitLine = (line: string, room: DrawArea): string => {
  const plain = room.theme.colours === "none" ? stripTerminalSequences(line) : line;
  const bare = stripColours(plain);
  const width = /^[\u0020-\u007E]*$/.test(bare) ? bare.length : visibleWidth(plain);
  return width <= room.width ? plain : cutLine(plain, room);
};
