import { visibleWidth } from "@earendil-works/pi-tui";

/** What a terminal does to lines that are longer than it has become. */
export type Narrowing = "wraps" | "cuts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Rows that lines fill, once a terminal has so many columns. A line was never wider than the terminal it was drawn on. */
export function rowsOf(lines: readonly string[], columns: number, narrowing: Narrowing): number {
  if (narrowing === "cuts") return lines.length;
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(visibleWidth(line) / columns)), 0);
}

export interface Refitted extends Size {
  readonly narrowing: Narrowing;
}

/** How many of the lines, from the top, no longer fit on the screen: the terminal has moved them to its scrollback. */
export function linesGone(lines: readonly string[], { columns, rows, narrowing }: Refitted): number {
  let left = rows;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    left -= rowsOf(lines.slice(index, index + 1), columns, narrowing);
    if (left < 0) return index + 1;
  }
  return 0;
}

/**
 * By what a terminal says of itself. Nearly all wrap; those that cut are named here. Taken for one that wraps, such a
 * terminal would have lines above the chat wiped away on a resize.
 */
export function narrowingOf(env: Readonly<Record<string, string | undefined>>): Narrowing {
  const term = env["TERM"] ?? "";
  const cuts = env["XTERM_VERSION"] !== undefined || env["STY"] !== undefined || term === "linux";
  return cuts ? "cuts" : "wraps";
}
