import { truncateToWidth, TuiMainScreen, type TuiMainScreenRenderState, visibleWidth } from "@earendil-works/pi-tui";
import type { GuardedTerminal } from "./guarded-terminal.ts";
import { resizeQuietMillis } from "../limits.ts";
import type { ChatTail } from "./chat-tail.ts";

/**
 * Draws the tail of a chat and what is below it as the last lines of the terminal's main screen. pi-tui keeps every line it
 * ever drew, compares all of them in each frame, and redraws everything if a line changes that has left the screen, or if the
 * terminal's size changes. This class makes it forget the lines that have left the screen, so that it sees no such change;
 * and on a resize only the lines that are still on the screen are wiped and drawn again.
 *
 * A resize may leave traces: a line of a streaming text may appear twice; and if a frame was being written when the size
 * changed, some of its lines may be broken at the new edge or appear twice.
 */
export class ChatTui extends TuiMainScreen {
  readonly #terminal: GuardedTerminal;
  readonly #tail: ChatTail;
  readonly #narrowing: LongLineMode;
  #awaitedSize = "";
  #resizeTimer: NodeJS.Timeout | undefined;

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
   * Removes pi-tui's painted cursor, because the terminal's own one is shown. Cuts lines that are still too wide, as on a
   * terminal of three columns: pi-tui would end the program.
   */
  override render(width: number): string[] {
    return super
      .render(width)
      .map((line) => line.replace(paintedCursor, "$<marker>$<character>"))
      .map((line) => (visibleWidth(line) > width ? truncateToWidth(line, width, "") : line));
  }

  /** Draws everything again, as after another program has written to the screen. */
  redraw(): void {
    const { previousLines } = this.captureRenderState();
    const isFullScreen = previousLines.length >= this.#terminal.rows;
    if (isFullScreen) this.#terminal.clearScreen();
    else this.#wipeFrom(0);
    this.beginHere();
    this.requestRender();
  }

  /** The next frame begins at the cursor. */
  beginHere(): void {
    this.restoreRenderState(nothingDrawn);
  }

  /** Puts the cursor at the beginning of the line below everything. */
  goBelow(): void {
    const { previousLines, hardwareCursorRow } = this.captureRenderState();
    this.#terminal.moveBy(Math.max(0, previousLines.length - 1 - hardwareCursorRow));
    if (previousLines.length > 0) this.#terminal.write("\r\n");
  }

  /** Draws at once, as before the terminal is released. */
  drawNow(): void {
    clearTimeout(this.#resizeTimer);
    this.#resizeTimer = undefined;
    this.#awaitedSize = formatSize(this.#terminal);
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
   * While a window is dragged, its size changes every few milliseconds. A frame for one size would reach a terminal that
   * already has the next, and would wipe lines that are not ours. So nothing is drawn until the size has held for a while.
   */
  #isBeingResized(): boolean {
    const { previousLines, previousWidth, previousHeight } = this.captureRenderState();
    const { columns, rows } = this.#terminal;
    if (previousLines.length === 0 || (previousWidth === columns && previousHeight === rows)) return false;
    const size = formatSize(this.#terminal);
    if (size === this.#awaitedSize) return this.#resizeTimer !== undefined;
    this.#awaitedSize = size;
    clearTimeout(this.#resizeTimer);
    this.#resizeTimer = setTimeout(() => {
      this.#resizeTimer = undefined;
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
    this.beginHere();
  }

  /** Clears the screen from this line on, and leaves the cursor there. */
  #wipeFrom(line: number): void {
    const { previousLines, hardwareCursorRow } = this.captureRenderState();
    const between = previousLines.slice(line, hardwareCursorRow);
    this.#terminal.moveBy(-countRows(between, this.#terminal.columns, this.#narrowing));
    this.#terminal.write("\r\u001B[J");
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

/** Makes pi-tui draw all lines from the cursor on, without clearing anything. */
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

/** What a terminal does with lines that are too long after it became narrower. */
export type LongLineMode = "wraps" | "cuts";

interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** How many rows the lines fill on a terminal with this many columns. */
export function countRows(lines: readonly string[], columns: number, narrowing: LongLineMode): number {
  if (narrowing === "cuts") return lines.length;
  return lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(visibleWidth(line) / columns)), 0);
}

/** How many of the first lines no longer fit the screen: the terminal has moved them to its scrollback. */
export function countLinesGone(
  lines: readonly string[],
  { columns, rows, narrowing }: TerminalSize & { readonly narrowing: LongLineMode },
): number {
  let rowsLeft = rows;
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    rowsLeft -= countRows(lines.slice(index, index + 1), columns, narrowing);
    if (rowsLeft < 0) return index + 1;
  }
  return 0;
}

/**
 * Detected from the environment. Nearly all terminals wrap; those that cut are listed here. If such a terminal were taken for
 * one that wraps, a resize would wipe lines above the chat.
 */
export function detectLongLineMode(env: Readonly<Record<string, string | undefined>>): LongLineMode {
  const term = env["TERM"] ?? "";
  const cuts = env["XTERM_VERSION"] !== undefined || env["STY"] !== undefined || term === "linux";
  return cuts ? "cuts" : "wraps";
}
