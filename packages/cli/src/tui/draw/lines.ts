import { stripTerminalSequences, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import type { Paint, Theme } from "../theme/theme.ts";
import { cutLineCharsMax } from "./limits.ts";
import { shownText, withoutColours, withoutHalfSequence } from "./shown-text.ts";

/** Where lines are drawn. */
export interface Room {
  readonly width: number;
  readonly theme: Theme;
}

/** One line that fits. `text` may hold sequences of ours; whose style is still open where it is cut is closed. */
export function cut(text: string, { width, theme }: Room): string {
  const line = truncateToWidth(beginning(text), width, "…");
  return theme.colours === "none" ? stripTerminalSequences(line) : line;
}

/** No sequence and no character is cut in two. */
const beginning = (text: string): string =>
  text.length <= cutLineCharsMax ? text : withoutHalfSequence(text.slice(0, wholeCharacter(text, cutLineCharsMax)));

export interface Hung extends Room {
  /** Before the first line. */
  readonly first: string;
  /** Before all others, as wide. */
  readonly rest?: string;
  readonly paint?: Paint;
}

/** Somebody's text, wrapped behind a mark. Painted line by line, so that no style runs on. */
export function hung(text: string, { width, theme, first, paint, rest }: Hung): readonly string[] {
  const before = visibleWidth(first);
  const others = rest ?? " ".repeat(before);
  const lines = wrapTextWithAnsi(shownText(text), Math.max(1, width - before));
  return lines.map((line, index) =>
    fitted(`${index === 0 ? first : others}${paint?.(line) ?? line}`, { width, theme }),
  );
}

/**
 * The same line, or cut where it is too wide after all: a terminal would break it and every line below would be off by one.
 * To measure is dear: what is plain letters is counted.
 */
export const fitted = (line: string, room: Room): string => {
  const plain = room.theme.colours === "none" ? stripTerminalSequences(line) : line;
  const bare = withoutColours(plain);
  const width = /^[\u0020-\u007E]*$/.test(bare) ? bare.length : visibleWidth(plain);
  return width <= room.width ? plain : cut(plain, room);
};
