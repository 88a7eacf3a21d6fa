import type { Component, Focusable, TUI } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Theme } from "../theme.ts";
import type { RenderLines } from "./render-lines.ts";

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

/** What a dialog shows, from top to bottom: title, text, choices, a place to write, the keys. */
export interface DialogContent {
  /** Of what is asked: where it changes, something else has come up. */
  readonly id: string;
  readonly title: string;
  /** Scrolls. */
  readonly body?: RenderLines;
  /** What stays where it is while the text above scrolls. */
  readonly choices?: DialogBlock;
  readonly writer?: TextFieldSpec;
  /** Those that matter most come first: the last ones are left out where there is no room. */
  readonly hints: readonly string[];
}

export interface DialogBlock {
  readonly rowsWanted: (width: number) => number;
  /** At most as many as there are rows. */
  readonly lines: (space: { readonly width: number; readonly rows: number }) => readonly string[];
}

export interface TextFieldSpec {
  /** Another one is another place to write: it begins with its own text. */
  readonly id: string;
  readonly kind: "line" | "editor";
  readonly text: string;
  readonly prompt?: string;
}

/** What a dialog is but for drawing and bytes: pure. */
export interface DialogScript<State, Answer> {
  readonly first: State;
  /** What it is answered with where nobody answers. */
  readonly harmless: Answer;
  /**
   * Whether what is typed ahead counts. `first`: not when the dialog comes up; `each`: nor when something else comes up
   * in it; `none`: all of it, as the person has opened it.
   */
  readonly guard: "none" | "first" | "each";
  /** Somebody typed what is no answer: they may not be looking, so Enter must do no harm now. Only where there is a guard. */
  stray?(state: State): State;
  press(state: State, pressed: KeyPress): DialogStep<State, Answer>;
  /** What was written has changed. */
  typed?(state: State, text: string): State;
  /** Called for every frame: what is costly in it is kept by whoever makes the script. */
  look(state: State): DialogContent;
}

export interface KeyPress {
  readonly key: string;
  readonly written: FieldText;
}

/** What stands where a person writes. */
export interface FieldText {
  readonly text: string;
  readonly state: "as-given" | "changed";
}

export const emptyFieldText: FieldText = { text: "", state: "as-given" };

export type DialogStep<State, Answer> =
  | { readonly kind: "to"; readonly state: State }
  | { readonly kind: "answer"; readonly answer: Answer }
  /** The key is not the script's: it writes or scrolls. */
  | { readonly kind: "pass" };
