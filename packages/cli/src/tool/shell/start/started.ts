import type { ShellWord } from "../word.ts";

/** What a program starts that is given a program or a text of one. */
export interface Started {
  readonly commands: readonly (readonly ShellWord[])[];
  /** Texts that a shell reads. */
  readonly scripts: readonly ShellWord[];
  /** `unclear`: it may start other programs too. */
  readonly sight: "clear" | "unclear";
}

export const startsNothing: Started = { commands: [], scripts: [], sight: "clear" };
export const startsAnything: Started = { commands: [], scripts: [], sight: "unclear" };
export const startsCommand = (words: readonly ShellWord[]): Started => ({ ...startsNothing, commands: [words] });
export const startsScripts = (scripts: readonly ShellWord[]): Started => ({ ...startsNothing, scripts });

/** As a shell gets them that is given several words for one line. */
export const joinedWords = (words: readonly ShellWord[]): ShellWord => ({
  kind: words.every(({ kind }) => kind === "plain") ? "plain" : "dynamic",
  value: words.map(({ value }) => value).join(" "),
});

export type StarterRow = (args: readonly ShellWord[]) => Started;

export interface Given {
  readonly args: readonly ShellWord[];
  /** What is written out for its input, and values that are set for it. */
  readonly texts: readonly ShellWord[];
}
