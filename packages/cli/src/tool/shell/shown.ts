import type { ShellWord } from "./word.ts";

/** Of one command. */
export interface Shown {
  readonly named: readonly ShownWord[];
  /** `perhaps`: of files too that its words do not name. */
  readonly others: "none" | "perhaps";
}

export interface ShownWord {
  readonly word: ShellWord;
  /** `below`: and whatever lies in it, if it is a folder. */
  readonly reach: "itself" | "below";
  /**
   * `name`: it is a file's name if there is such a file. `text`: such a name may also stand anywhere in it. `history`: it
   * names what a repository has, or once had, under that path.
   */
  readonly as: "name" | "text" | "history";
}

export const nothing: Shown = { named: [], others: "none" };
export const perhaps = (shown: Shown): Shown => ({ ...shown, others: "perhaps" });

/** A word that only the shell knows may name any file. */
export function names(words: readonly ShellWord[], reach: ShownWord["reach"]): Shown {
  const isUnseen = words.some(({ kind, pieces }) => kind === "dynamic" && pieces === undefined);
  return {
    named: words.map((word): ShownWord => ({ word, reach, as: "name" })),
    others: isUnseen ? "perhaps" : "none",
  };
}
