import type { Terminal } from "@earendil-works/pi-tui";
import type { Colours } from "../theme.ts";

/** What a terminal does for pi-tui that is a sequence and nothing else. */
export abstract class SequenceTerminal {
  abstract write(data: string): void;

  moveBy(lines: number): void {
    if (lines !== 0) this.write(lines > 0 ? `\u001B[${lines}B` : `\u001B[${-lines}A`);
  }

  hideCursor(): void {
    this.write("\u001B[?25l");
  }

  showCursor(): void {
    this.write("\u001B[?25h");
  }

  clearLine(): void {
    this.write("\u001B[K");
  }

  clearFromCursor(): void {
    this.write("\u001B[J");
  }
}

/**
 * A terminal whose scrollback is safe: what would clear it never gets through, nor does what clears the screen where the
 * screen holds lines that are not ours. With `none` no style gets through either, whoever asked for it. A frame is written
 * at once, with the cursor out of sight.
 */
export class GuardedTerminal extends SequenceTerminal implements Terminal {
  readonly #terminal: Terminal;
  readonly #colours: Colours;
  #held: string[] | undefined;
  /** The beginning of a sequence whose end comes with the next piece. */
  #begun = "";

  constructor(terminal: Terminal, colours: Colours) {
    super();
    this.#terminal = terminal;
    this.#colours = colours;
  }

  /** What `draw` writes goes out as one. */
  frame(draw: () => void): void {
    const held: string[] = [];
    this.#held = held;
    try {
      draw();
    } finally {
      this.#held = undefined;
      const written = held.join("");
      if (written !== "") this.#terminal.write(`${beginFrame}${written}${endFrame}`);
    }
  }

  write(data: string): void {
    const whole = this.#begun + data;
    const cut = unfinished.exec(whole)?.index ?? whole.length;
    this.#begun = whole.slice(cut);
    const safe = this.#safe(whole.slice(0, cut));
    if (safe === "") return;
    if (this.#held === undefined) this.#terminal.write(safe);
    else this.#held.push(safe);
  }

  #safe(data: string): string {
    const kept = data.replaceAll(clearAll, clearScreen).replaceAll(clearScrollback, "");
    return this.#colours === "none" ? kept.replaceAll(styles, "") : kept;
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    this.#terminal.start(onInput, onResize);
  }

  stop(): void {
    this.#terminal.stop();
  }

  drainInput(maxMs?: number, idleMs?: number): Promise<void> {
    return this.#terminal.drainInput(maxMs, idleMs);
  }

  get columns(): number {
    return this.#terminal.columns;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get kittyProtocolActive(): boolean {
    return this.#terminal.kittyProtocolActive;
  }

  clearScreen(): void {
    this.write(clearScreen);
  }

  setTitle(title: string): void {
    this.#terminal.setTitle(title);
  }

  setProgress(active: boolean): void {
    this.#terminal.setProgress(active);
  }
}

/** As pi-tui writes it. Some terminals push a screen that is cleared by `2J` to the scrollback, so that all of it is doubled. */
const clearAll = "\u001B[2J\u001B[H\u001B[3J";
const clearScreen = "\u001B[H\u001B[J";
const clearScrollback = "\u001B[3J";
/** Colours and the like, and the end of a link. */
// oxlint-disable-next-line no-control-regex
const styles = /\u001B\[[\d;:]*m|\u001B\]8;;\u0007/g;
// oxlint-disable-next-line no-control-regex
const unfinished = /\u001B(?:\[[\d;:?<>=]*)?$/;
/** Terminals that know it show the frame when it is whole. */
const beginFrame = "\u001B[?2026h\u001B[?25l";
const endFrame = "\u001B[?2026l";
