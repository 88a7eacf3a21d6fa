import type { Component, Focusable, TUI } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock";
import type { Theme } from "../theme/theme.ts";

/** Something a person is asked, in the place of the editor. It is taken away by whoever showed it, once it is answered. */
export interface Dialog<Answer> extends Component, Focusable {
  /** Never rejects. */
  readonly answered: Promise<Answer>;
  handleInput(data: string): void;
  /** Answers with what changes nothing; of no effect where it is answered. */
  cancel(): void;
}

export interface DialogDeps extends ClockDep {
  /** For the height of the terminal, and for the editor. */
  readonly tui: TUI;
  readonly theme: Theme;
  readonly cwd: string;
  readonly requestRender: () => void;
}
