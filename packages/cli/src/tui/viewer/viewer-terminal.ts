import type { Terminal } from "@earendil-works/pi-tui";
import { GuardedTerminal } from "../screen/guarded-terminal.ts";
import type { Colours } from "../theme/theme.ts";

export interface ViewerTerminalOptions {
  readonly colours: Colours;
  readonly isSearching: () => boolean;
}

/** A slash begins a search: pi-tui's own key for it is one that older terminals cannot send. */
export class ViewerTerminal extends GuardedTerminal {
  readonly #isSearching: () => boolean;

  constructor(terminal: Terminal, { colours, isSearching }: ViewerTerminalOptions) {
    super(terminal, colours);
    this.#isSearching = isSearching;
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    super.start((data) => onInput(data === "/" && !this.#isSearching() ? searchKey : data), onResize);
  }
}

/** Ctrl-Shift-F. */
const searchKey = "\u001B[102;6u";
