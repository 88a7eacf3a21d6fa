import type { Terminal } from "@earendil-works/pi-tui";
import type { Colours } from "../theme.ts";

/** The methods of pi-tui's `Terminal` that only write an escape sequence. */
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
 * Protects the scrollback: drops sequences that clear it, and replaces the one that would clear lines that are not ours. With
 * the colours `none`, drops all styles too. A frame is written at once, with the cursor hidden.
 */
export class GuardedTerminal extends SequenceTerminal implements Terminal {
  readonly #terminal: Terminal;
  readonly #colours: Colours;
  /** What the current frame has written so far. */
  #frame: string[] | undefined;
  /** The start of a sequence whose end comes with the next write. */
  #incomplete = "";

  constructor(terminal: Terminal, colours: Colours) {
    super();
    this.#terminal = terminal;
    this.#colours = colours;
  }

  /** Writes everything that `draw` writes in one piece. */
  frame(draw: () => void): void {
    const pieces: string[] = [];
    this.#frame = pieces;
    try {
      draw();
    } finally {
      this.#frame = undefined;
      const data = pieces.join("");
      if (data !== "") this.#terminal.write(`${beginFrame}${data}${endFrame}`);
    }
  }

  write(data: string): void {
    const input = this.#incomplete + data;
    const end = unfinished.exec(input)?.index ?? input.length;
    this.#incomplete = input.slice(end);
    const safe = this.#filter(input.slice(0, end));
    if (safe === "") return;
    if (this.#frame === undefined) this.#terminal.write(safe);
    else this.#frame.push(safe);
  }

  #filter(data: string): string {
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

/** As pi-tui writes it. On `2J` some terminals push the screen to the scrollback, so that everything appears twice. */
const clearAll = "\u001B[2J\u001B[H\u001B[3J";
const clearScreen = "\u001B[H\u001B[J";
const clearScrollback = "\u001B[3J";
/** SGR sequences, and the end of a link. */
// oxlint-disable-next-line no-control-regex
const styles = /\u001B\[[\d;:]*m|\u001B\]8;;\u0007/g;
// oxlint-disable-next-line no-control-regex
const unfinished = /\u001B(?:\[[\d;:?<>=]*)?$/;
/** Synchronized output: terminals that support it show the frame only when it is complete. */
const beginFrame = "\u001B[?2026h\u001B[?25l";
const endFrame = "\u001B[?2026l";
