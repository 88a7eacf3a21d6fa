import { stripTerminalSequences, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { safeCutIndex } from "palimpsest/internal/schema/safe-cut-index";
import type { Paint, Theme } from "../theme.ts";
import { cutLineCharsMax } from "../limits.ts";
import { sanitizeText, stripColours, stripHalfSequence } from "./sanitize-text.ts";

/** Where lines are drawn. */
export interface DrawArea {
  readonly width: number;
  readonly theme: Theme;
}

/** One line that fits. `text` may hold sequences of ours; whose style is still open where it is cut is closed. */
export function cutLine(text: string, { width, theme }: DrawArea): string {
  const line = truncateToWidth(lineStart(text), width, "…");
  return theme.colours === "none" ? stripTerminalSequences(line) : line;
}

/** No sequence and no character is cut in two. */
const lineStart = (text: string): string =>
  text.length <= cutLineCharsMax ? text : stripHalfSequence(text.slice(0, safeCutIndex(text, cutLineCharsMax)));

interface WrapOptions extends DrawArea {
  /** Before the first line. */
  readonly first: string;
  /** Before all others, as wide. */
  readonly rest?: string;
  readonly paint?: Paint;
}

/** Somebody's text, wrapped behind a mark. Painted line by line, so that no style runs on. */
export function wrapText(text: string, { width, theme, first, paint, rest }: WrapOptions): readonly string[] {
  const before = visibleWidth(first);
  const others = rest ?? " ".repeat(before);
  const lines = wrapTextWithAnsi(sanitizeText(text), Math.max(1, width - before));
  return lines.map((line, index) =>
    fitLine(`${index === 0 ? first : others}${paint?.(line) ?? line}`, { width, theme }),
  );
}

/**
 * The same line, or cut where it is too wide after all: a terminal would break it and every line below would be off by one.
 * To measure is dear: what is plain letters is counted.
 */
export const fitLine = (line: string, room: DrawArea): string => {
  const plain = room.theme.colours === "none" ? stripTerminalSequences(line) : line;
  const bare = stripColours(plain);
  const width = /^[\u0020-\u007E]*$/.test(bare) ? bare.length : visibleWidth(plain);
  return width <= room.width ? plain : cutLine(plain, room);
};
