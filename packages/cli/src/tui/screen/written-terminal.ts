/** What a terminal does for pi-tui that is a sequence and nothing else. */
export abstract class WrittenTerminal {
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
