import { setTimeout as delay } from "node:timers/promises";
import type { Terminal } from "@earendil-works/pi-tui";
import headless from "@xterm/headless";
import { setCharacterWidth } from "./character-width.ts";
import { SequenceTerminal } from "../../packages/cli/src/tui/screen/guarded-terminal.ts";

/** The terminal of pi-tui without a process behind it: what is drawn stands in a real screen. */
export class DrawnTerminal extends SequenceTerminal implements Terminal {
  readonly #xterm: InstanceType<typeof headless.Terminal>;
  #onInput: ((data: string) => void) | undefined;
  #onResize: (() => void) | undefined;
  #raw = "";
  readonly kittyProtocolActive = false;

  constructor(columns: number, rows: number) {
    super();
    this.#xterm = new headless.Terminal({ cols: columns, rows, scrollback: 100_000, allowProposedApi: true });
    setCharacterWidth(this.#xterm, "joined");
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    this.#onInput = onInput;
    this.#onResize = onResize;
    this.write("\u001B[?2004h");
  }

  stop(): void {
    this.#onInput = undefined;
    this.#onResize = undefined;
    this.write("\u001B[?2004l");
  }

  get isStarted(): boolean {
    return this.#onInput !== undefined;
  }

  async drainInput(): Promise<void> {}

  write(data: string): void {
    this.#raw += data;
    this.#xterm.write(data);
  }

  /** Each is what a terminal sends for one key, or a whole paste. */
  press(...keys: readonly string[]): void {
    for (const key of keys) this.#onInput?.(key);
  }

  type(text: string): void {
    this.press(...Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment));
  }

  resizeAtOnce(columns: number, rows: number): void {
    this.#xterm.resize(columns, rows);
    this.#onResize?.();
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.settled();
    this.resizeAtOnce(columns, rows);
    await this.settled();
    await this.settled();
  }

  /**
   * What was asked to be drawn has been, and nothing more came for a while. Timers of one process fire in their order,
   * however busy the machine is: a frame is never further away than such a while.
   */
  async settled(): Promise<void> {
    let before = -1;
    for (let turns = 0; turns < turnsMin || (turns < turnsMax && before !== this.#raw.length); turns += 1) {
      before = this.#raw.length;
      await delay(whileMillis);
    }
    await new Promise<void>((resolve) => {
      this.#xterm.write("", resolve);
    });
  }

  get columns(): number {
    return this.#xterm.cols;
  }

  get rows(): number {
    return this.#xterm.rows;
  }

  /** Every byte that was written. */
  get raw(): string {
    return this.#raw;
  }

  /** What can be seen. */
  screen(): readonly string[] {
    const { viewportY } = this.#xterm.buffer.active;
    return this.#lines(viewportY, viewportY + this.rows);
  }

  /** With what has scrolled away. Lines that were wrapped stand in one. */
  everything(): readonly string[] {
    const { normal } = this.#xterm.buffer;
    const joined: string[] = [];
    for (let row = 0; row < normal.length; row += 1) {
      const line = normal.getLine(row);
      const text = line?.translateToString(false) ?? "";
      if (line?.isWrapped === true) joined.push((joined.pop() ?? "") + text);
      else joined.push(text);
    }
    return joined.map((line) => line.trimEnd());
  }

  cursor(): { readonly column: number; readonly row: number } {
    const { cursorX, cursorY } = this.#xterm.buffer.active;
    return { column: cursorX, row: cursorY };
  }

  get buffer(): "normal" | "alternate" {
    return this.#xterm.buffer.active.type;
  }

  #lines(from: number, to: number): readonly string[] {
    const { active } = this.#xterm.buffer;
    return Array.from({ length: to - from }, (_, row) => active.getLine(from + row)?.translateToString(true) ?? "");
  }

  clearScreen(): void {
    this.write("\u001B[2J\u001B[H");
  }

  setTitle(): void {}

  setProgress(): void {}
}

const whileMillis = 25;
const turnsMin = 2;
/** Where a spinner turns, something comes always. */
const turnsMax = 8;
