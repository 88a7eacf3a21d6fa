import { shellPlaceValuesMax } from "../limits.ts";
import type { ShellWord, WordPiece } from "./word.ts";
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
  const { kind, value, pieces } = word;
  if (kind === "dynamic") {
    if (pieces === undefined) return [word];
    const places = [{ HOME: home, PWD: cwd }, ...given.map((folder) => ({ HOME: folder, PWD: folder }))];
    return places.map((folders) => joined(pieces, folders));
  }
  if (!/^~(\/|$)/.test(value)) return [word];
  return [word, ...given.map((folder) => withStart(word, folder))];
}

interface PlaceFolders {
  readonly HOME: string;
  readonly PWD: string;
}

/** A value with a pattern in it would be a pattern too. */
function joined(pieces: readonly WordPiece[], places: PlaceFolders): ShellWord {
  const known = pieces.map((piece): WordPiece => {
    return piece.kind === "variable" ? { kind: "plain", text: places[piece.name] } : piece;
  });
  const value = known.map((piece) => (piece.kind === "variable" ? "" : piece.text)).join("");
  return known.some(({ kind }) => kind === "glob") ? { kind: "glob", value, pieces: known } : { kind: "plain", value };
}

/** In the place of the tilde that it starts with. */
function withStart({ kind, value, pieces }: ShellWord, folder: string): ShellWord {
  const [first, ...rest] = pieces ?? [];
  const named = { kind, value: folder + value.slice(1) };
  return first?.kind === "plain"
    ? { ...named, pieces: [{ kind: "plain", text: folder + first.text.slice(1) }, ...rest] }
    : named;
}

const placed = (value: string, places: PlaceFolders): string =>
  value
    .replace(/^~(?=\/|$)/, () => places.HOME)
    .replaceAll(/\$\{?(HOME|PWD)\}?/g, (_, name) => (name === "HOME" ? places.HOME : places.PWD));
