import { truncateToWidth, TuiMainScreen, type TuiMainScreenRenderState, visibleWidth } from "@earendil-works/pi-tui";
import type { GuardedTerminal } from "./guarded-terminal.ts";
import { resizeQuietMillis } from "../limits.ts";
import type { ChatTail } from "./chat-tail.ts";

/**
 * Draws the tail of a chat and what stands below it, as the last lines of the terminal's own screen. pi-tui keeps every
 * line it ever drew, compares all of them in each frame, and begins anew where one changes that has left the screen, or where
 * the terminal has another size. Here it is made to forget what has left the screen, so that it sees no such change; and on
 * a resize only those lines are wiped and drawn again that are still on it.
 *
 * What a resize may leave: of a text that was streaming, a line twice; of a frame that was on its way when the terminal
 * changed, and counted on the rows of before, lines that the terminal has broken at its new edge, and some twice.
 */
export class ChatTui extends TuiMainScreen {
  readonly #terminal: GuardedTerminal;
  readonly #tail: ChatTail;
  readonly #narrowing: LongLineMode;
  #sizeAwaited = "";
  #quiet: NodeJS.Timeout | undefined;

  constructor({
    terminal,
    tail,
    narrowing,
  }: {
    readonly terminal: GuardedTerminal;
    readonly tail: ChatTail;
    readonly narrowing: LongLineMode;
  }) {
    super(terminal, true);
    this.#terminal = terminal;
    this.#tail = tail;
    this.#narrowing = narrowing;
  }

  /**
   * The cursor is the terminal's: a painted one beside it would be a second. A line that is too wide after all, as on a
   * terminal of three columns, is cut: pi-tui ends the program over it.
   */
  override render(width: number): string[] {
    return super
      .render(width)
      .map((line) => line.replace(paintedCursor, "$<marker>$<character>"))
      .map((line) => (visibleWidth(line) > width ? truncateToWidth(line, width, "") : line));
  }

  /** As after something has written over it. */
  redraw(): void {
    const { previousLines } = this.captureRenderState();
    const isAlone = previousLines.length >= this.#terminal.rows;
    if (isAlone) this.#terminal.clearScreen();
    else this.#wipeFrom(0);
    this.#beginHere();
    this.requestRender();
  }

  /** What is drawn next begins where the cursor is. */
  beginHere(): void {
    this.#beginHere();
  }

  /** Puts the cursor at the beginning of the line below everything. */
  goBelow(): void {
    const { previousLines, hardwareCursorRow } = this.captureRenderState();
    this.#terminal.moveBy(Math.max(0, previousLines.length - 1 - hardwareCursorRow));
    if (previousLines.length > 0) this.#terminal.write("\r\n");
  }

  /** Whatever is to be drawn, at once: as before the terminal is given back. */
  drawNow(): void {
    clearTimeout(this.#quiet);
    this.#quiet = undefined;
    this.#sizeAwaited = formatSize(this.#terminal);
    this.renderNow();
  }

  protected override doRender(): void {
    if (this.stopped || this.#isBeingResized()) return;
    this.#terminal.frame(() => {
      this.#refit();
      super.doRender();
      this.#forget();
    });
  }

  /**
   * While a window is dragged its size is another one each few milliseconds, and a frame for one of them would come to a
   * terminal that has the next: then lines are wiped that are not ours. So nothing is drawn until a size has held a while.
   */
  #isBeingResized(): boolean {
    const { previousLines, previousWidth, previousHeight } = this.captureRenderState();
    const { columns, rows } = this.#terminal;
    if (previousLines.length === 0 || (previousWidth === columns && previousHeight === rows)) return false;
    const size = formatSize(this.#terminal);
    if (size === this.#sizeAwaited) return this.#quiet !== undefined;
    this.#sizeAwaited = size;
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.#quiet = undefined;
      this.requestRender();
    }, resizeQuietMillis);
    return true;
  }

  #forget(): void {
    const state = this.captureRenderState();
    const lines = this.#tail.markScrolledOff(state.previousViewportTop);
    if (lines > 0) this.restoreRenderState(dropLines(state, lines));
  }

  #refit(): void {
    const { previousLines, previousWidth, previousHeight } = this.captureRenderState();
    const { columns, rows } = this.#terminal;
    const isSame = previousWidth === columns && previousHeight === rows;
    if (previousLines.length === 0 || isSame) return;
    const gone = countLinesGone(previousLines, { columns, rows, narrowing: this.#narrowing });
    const scrolled = this.#tail.markScrolledOff(gone);
    this.#wipeFrom(scrolled + this.#tail.releaseHalfGone());
    this.#beginHere();
  }

  /** Clears the screen from one of the lines on, and leaves the cursor there. */
  #wipeFrom(line: number): void {
    const { previousLines, hardwareCursorRow } = this.captureRenderState();
    const between = previousLines.slice(line, hardwareCursorRow);
    this.#terminal.moveBy(-countRows(between, this.#terminal.columns, this.#narrowing));
    this.#terminal.write("\r\u001B[J");
  }

  #beginHere(): void {
    this.restoreRenderState(nothingDrawn);
  }
}

const formatSize = ({ columns, rows }: TerminalSize): string => `${columns}x${rows}`;

const dropLines = (state: TuiMainScreenRenderState, lines: number): TuiMainScreenRenderState => ({
  ...state,
  previousLines: state.previousLines.slice(lines),
  cursorRow: state.cursorRow - lines,
  hardwareCursorRow: state.hardwareCursorRow - lines,
  maxLinesRendered: state.maxLinesRendered - lines,
  previousViewportTop: state.previousViewportTop - lines,
});

/** pi-tui then draws all lines from the cursor on and clears nothing. */
const nothingDrawn: TuiMainScreenRenderState = {
  previousLines: [],
  previousWidth: 0,
  previousHeight: 0,
  cursorRow: 0,
  hardwareCursorRow: 0,
  maxLinesRendered: 0,
  previousViewportTop: 0,
};

// oxlint-disable-next-line no-control-regex
const paintedCursor = /(?<marker>\u001B_pi:c\u0007)\u001B\[7m(?<character>.*?)\u001B\[(?:0|27)m/u;

/** What a terminal does to lines that are longer than it has become. */
export type LongLineMode = "wraps" | "cuts";

interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Rows that lines fill, once a terminal has so many columns. A line was never wider than the terminal it was drawn on. */
export function countRows(lines: readonly string[], columns: number, narrowing: LongLineMode): number {
  if (narrowing === "cuts") return lines.length;
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(visibleWidth(line) / columns)), 0);
}

interface ResizedScreen extends TerminalSize {
  readonly narrowing: LongLineMode;
}

/** How many of the lines, from the top, no longer fit on the screen: the terminal has moved them to its scrollback. */
export function countLinesGone(lines: readonly string[], { columns, rows, narrowing }: ResizedScreen): number {
  let left = rows;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    left -= countRows(lines.slice(index, index + 1), columns, narrowing);
    if (left < 0) return index + 1;
  }
  return 0;
}

/**
 * By what a terminal says of itself. Nearly all wrap; those that cut are named here. Taken for one that wraps, such a
 * terminal would have lines above the chat wiped away on a resize.
 */
export function detectLongLineMode(env: Readonly<Record<string, string | undefined>>): LongLineMode {
  const term = env["TERM"] ?? "";
  const cuts = env["XTERM_VERSION"] !== undefined || env["STY"] !== undefined || term === "linux";
  return cuts ? "cuts" : "wraps";
}
