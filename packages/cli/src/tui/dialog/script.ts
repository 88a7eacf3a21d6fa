import type { Picture } from "./picture.ts";

/** What a dialog is but for drawing and bytes: pure. */
export interface Script<State, Answer> {
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
  press(state: State, pressed: Pressed): Step<State, Answer>;
  /** What was written has changed. */
  typed?(state: State, text: string): State;
  /** Called for every frame: what is costly in it is kept by whoever makes the script. */
  look(state: State): Picture;
}

export interface Pressed {
  readonly key: string;
  readonly written: Written;
}

/** What stands where a person writes. */
export interface Written {
  readonly text: string;
  readonly state: "as-given" | "changed";
}

export const nothingWritten: Written = { text: "", state: "as-given" };

export type Step<State, Answer> =
  | { readonly kind: "to"; readonly state: State }
  | { readonly kind: "answer"; readonly answer: Answer }
  /** The key is not the script's: it writes or scrolls. */
  | { readonly kind: "pass" };
