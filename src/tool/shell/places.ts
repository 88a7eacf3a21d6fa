import { shellPlaceValuesMax } from "../limits.ts";
import type { ShellWord } from "./line.ts";
import { variablesSet } from "./variables.ts";

export interface Start {
  readonly cwd: string;
  readonly home: string;
}

export interface Standing extends Start {
  /** What the line may make of `~`, `$HOME` and `$PWD`; empty where it leaves them as they are. */
  readonly values: readonly string[];
}

/**
 * Every text of a line that may become the value of `$HOME` or `$PWD`; none where it only uses them. A `cd` is no such
 * change: where it leads is looked at by itself.
 */
export function placeValues(source: string, commands: readonly (readonly ShellWord[])[]): readonly string[] {
  const texts = [source.replaceAll(/\\\n|["'\\]/g, ""), ...commands.flat().map(({ value }) => value)];
  const isSet =
    texts.some((text) => placeName.test(text.replaceAll(placeUse, " "))) ||
    commands.some((words) => variablesSet(words).sight === "unclear");
  if (!isSet) return [];
  const values = new Set(["", ...texts.flatMap((text) => text.split(/[\s;|&()<>={},]+/))]);
  return [...values].slice(0, shellPlaceValuesMax);
}

const placeName = /(?<!\w)(?:HOME|PWD|OLDPWD|CDPATH)(?!\w)/;
const placeUse = /\$(?:(?:HOME|PWD|OLDPWD|CDPATH)(?!\w)|\{(?:HOME|PWD|OLDPWD|CDPATH)\})/g;

/** With the folders in it that everybody knows, and with each that the line may have put in their place. */
export function withPlaces(word: ShellWord, { cwd, home, values }: Standing): readonly ShellWord[] {
  const given = values.map((value) => placed(value, { HOME: home, PWD: cwd }));
  if (word.pieces !== undefined)
    return [{ HOME: home, PWD: cwd }, ...given.map((value) => ({ HOME: value, PWD: value }))].map((places) =>
      joined(word.pieces ?? [], places),
    );
  if (word.kind === "dynamic" || !/^~(\/|$)/.test(word.value)) return [word];
  return [word, ...given.map((value): ShellWord => ({ kind: word.kind, value: value + word.value.slice(1) }))];
}

interface PlaceFolders {
  readonly HOME: string;
  readonly PWD: string;
}

/** A value with a pattern in it would be a pattern too. */
const joined = (pieces: NonNullable<ShellWord["pieces"]>, places: PlaceFolders): ShellWord => ({
  kind: pieces.some(({ kind }) => kind === "glob") ? "glob" : "plain",
  value: pieces.map((piece) => (piece.kind === "variable" ? places[piece.name] : piece.text)).join(""),
});

const placed = (value: string, places: PlaceFolders): string =>
  value
    .replace(/^~(?=\/|$)/, () => places.HOME)
    .replaceAll(/\$\{?(HOME|PWD)\}?/g, (_, name) => (name === "HOME" ? places.HOME : places.PWD));
