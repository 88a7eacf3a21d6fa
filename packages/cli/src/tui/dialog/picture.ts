import type { Lines } from "./lines.ts";

/** What a dialog shows, from top to bottom: title, text, choices, a place to write, the keys. */
export interface Picture {
  /** Of what is asked: where it changes, something else has come up. */
  readonly id: string;
  readonly title: string;
  /** Scrolls. */
  readonly body?: Lines;
  /** What stays where it is while the text above scrolls. */
  readonly choices?: Block;
  readonly writer?: Writer;
  /** Those that matter most come first: the last ones are left out where there is no room. */
  readonly hints: readonly string[];
}

export interface Space {
  readonly width: number;
  readonly rows: number;
}

export interface Block {
  readonly rowsWanted: (width: number) => number;
  /** At most as many as there are rows. */
  readonly lines: (space: Space) => readonly string[];
}

export interface Writer {
  /** Another one is another place to write: it begins with its own text. */
  readonly id: string;
  readonly kind: "line" | "editor";
  readonly text: string;
  readonly prompt?: string;
}
