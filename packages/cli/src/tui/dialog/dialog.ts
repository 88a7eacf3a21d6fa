import type { Component, Focusable, TUI } from "@earendil-works/pi-tui";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Theme } from "../theme.ts";
import type { RenderLines } from "./render-lines.ts";

/** A question to the user, shown in place of the editor. The caller that showed it removes it once it is answered. */
export interface Dialog<Answer> extends Component, Focusable {
  /** Never rejects. */
  readonly answered: Promise<Answer>;
  handleInput(data: string): void;
  /** Gives the harmless answer. Has no effect if the dialog is answered already. */
  cancel(): void;
}

export interface DialogDeps extends ClockDep {
  /** For the height of the terminal, and for the editor. */
  readonly tui: TUI;
  readonly theme: Theme;
  readonly cwd: string;
  readonly requestRender: () => void;
}

/** What a dialog shows, from top to bottom: title, text, choices, text field, key hints. */
export interface DialogContent {
  /** Identifies the question: a different id means that another one has come up. */
  readonly id: string;
  readonly title: string;
  /** Scrolls. */
  readonly body?: RenderLines;
  /** Stays in place while the text above scrolls. */
  readonly choices?: DialogBlock;
  readonly writer?: TextFieldSpec;
  /** The most important first: the last ones are left out if there is no room. */
  readonly hints: readonly string[];
}

export interface DialogBlock {
  readonly rowsWanted: (width: number) => number;
  /** Returns at most `rows` lines. */
  readonly lines: (space: { readonly width: number; readonly rows: number }) => readonly string[];
}

export interface TextFieldSpec {
  /** A different id means a new field, which begins with its own text. */
  readonly id: string;
  readonly kind: "line" | "editor";
  readonly text: string;
  readonly prompt?: string;
}

/** The logic of a dialog without drawing and raw input: pure. */
export interface DialogScript<State, Answer> {
  readonly first: State;
  /** The answer if the user gives none. */
  readonly harmless: Answer;
  /**
   * Whether keys that were typed ahead are ignored. `first`: when the dialog opens; `each`: also whenever its id changes;
   * `none`: never, as for a dialog that the user has opened.
   */
  readonly guard: "none" | "first" | "each";
  /** A key was no answer: the user may not be looking, so Enter must be harmless now. Only called if there is a guard. */
  stray?(state: State): State;
  press(state: State, pressed: KeyPress): DialogStep<State, Answer>;
  /** The text of the field has changed. */
  typed?(state: State, text: string): State;
  /** Called for every frame: the script has to cache what is costly. */
  look(state: State): DialogContent;
}

export interface KeyPress {
  readonly key: string;
  readonly written: FieldText;
}

/** The content of a text field. */
export interface FieldText {
  readonly text: string;
  readonly state: "as-given" | "changed";
}

export const emptyFieldText: FieldText = { text: "", state: "as-given" };

export type DialogStep<State, Answer> =
  | { readonly kind: "to"; readonly state: State }
  | { readonly kind: "answer"; readonly answer: Answer }
  /** The script does not use the key: it goes to the text field or scrolls. */
  | { readonly kind: "pass" };
