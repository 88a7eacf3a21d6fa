import { shellPlaceValuesMax } from "../limits.ts";
import type { ShellWord, WordPiece } from "./shell-word.ts";

export interface ShellLocation {
  readonly cwd: string;
  readonly home: string;
}

export interface WordContext extends ShellLocation {
  /** Possible values of `~`, `$HOME` and `$PWD`; empty if the line does not change them. */
  readonly values: readonly string[];
}

/**
 * Every text of a line that may become the value of `$HOME` or `$PWD`; empty if the line only uses them. A `cd` is not
 * such a change: its targets are handled separately.
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

/** The word with the known folders filled in, and with each value that the line may have given them. */
export function withPlaces(word: ShellWord, { cwd, home, values }: WordContext): readonly ShellWord[] {
  const assignedFolders = values.map((value) => substitutePlaces(value, { HOME: home, PWD: cwd }));
  const { kind, value, pieces } = word;
  if (kind === "dynamic") {
    if (pieces === undefined) return [word];
    const places = [{ HOME: home, PWD: cwd }, ...assignedFolders.map((folder) => ({ HOME: folder, PWD: folder }))];
    return places.map((folders) => joinWithPlaces(pieces, folders));
  }
  if (!/^~(\/|$)/.test(value)) return [word];
  return [word, ...assignedFolders.map((folder) => withStart(word, folder))];
}

interface PlaceFolders {
  readonly HOME: string;
  readonly PWD: string;
}

/** A pattern in a value would act as a pattern too. */
function joinWithPlaces(pieces: readonly WordPiece[], places: PlaceFolders): ShellWord {
  const known = pieces.map((piece): WordPiece => {
    return piece.kind === "variable" ? { kind: "plain", text: places[piece.name] } : piece;
  });
  const value = known.map((piece) => (piece.kind === "variable" ? "" : piece.text)).join("");
  return known.some(({ kind }) => kind === "glob") ? { kind: "glob", value, pieces: known } : { kind: "plain", value };
}

/** Replaces the leading tilde. */
function withStart({ kind, value, pieces }: ShellWord, folder: string): ShellWord {
  const [first, ...rest] = pieces ?? [];
  const substituted = { kind, value: folder + value.slice(1) };
  return first?.kind === "plain"
    ? { ...substituted, pieces: [{ kind: "plain", text: folder + first.text.slice(1) }, ...rest] }
    : substituted;
}

const substitutePlaces = (value: string, places: PlaceFolders): string =>
  value
    .replace(/^~(?=\/|$)/, () => places.HOME)
    .replaceAll(/\$\{?(HOME|PWD)\}?/g, (_, name) => (name === "HOME" ? places.HOME : places.PWD));

interface VariablesSet {
  readonly names: readonly string[];
  /** `unclear`: it may set other variables too. */
  readonly sight: "clear" | "unclear";
}

/** The variables that a builtin sets by name. */
export function variablesSet([name, ...args]: readonly ShellWord[]): VariablesSet {
  const none: VariablesSet = { names: [], sight: "clear" };
  if (name === undefined || !setters.has(name.value)) return none;
  if (name.value === "printf") {
    const [format] = args;
    if (format?.kind === "plain" && !format.value.startsWith("-v"))
      return settingFormat.test(format.value) ? anyOther : none;
  }
  if (name.value === "wait" && !args.some(({ value }) => value.startsWith("-"))) return none;
  // With `-n` one name refers to another; the expansion of other words is unknown.
  const isUnclear = args.some(
    ({ kind, value }) => /^-[^-]*n/.test(value) || (kind !== "plain" && !assigned.test(value)),
  );
  return {
    names: args.flatMap(({ value }) => (value.startsWith("-") ? [] : [value.split(/\+?=|\[/, 1)[0] ?? ""])),
    sight: isUnclear ? "unclear" : "clear",
  };
}

const anyOther: VariablesSet = { names: [], sight: "unclear" };

/** `%n` sets the variable that is its argument. */
const settingFormat = /%[^%a-zA-Z]*[hlLjzt]*n/;

const assigned = /^\w+\+?=/;

const setters: ReadonlySet<string> = new Set(
  "declare export getopts let local mapfile printf read readarray readonly typeset unset wait".split(" "),
);

/** Whether an argument is evaluated as an expression, so that a command in its brackets would run. */
export function mayRunSubscript([name, ...args]: readonly ShellWord[]): boolean {
  if (name === undefined) return false;
  const isTest = name.value === "[" || name.value === "test";
  if (!setters.has(name.value) && !isTest) return false;
  if ((isTest || name.value === "printf") && !args.some(({ value }) => value.startsWith("-v"))) return false;
  const isNumber = args.some(({ value }) => /^-[^-]*[iv]/.test(value));
  return args.some(({ kind, value }) => value.includes("[") || (isNumber && kind === "dynamic"));
}

/** Whether it changes what words and program names mean to the shell. */
export function changesMeaning([name, ...args]: readonly ShellWord[]): boolean {
  switch (name?.value) {
    case "shopt":
    case "enable":
      return args.length > 0;
    case "hash":
      return args.some(({ kind, value }) => kind !== "plain" || /^-[^-]*p/.test(value));
    case "set":
      return args.some(({ value }) => /^-[^-]*k|^(?:keyword|posix)$/.test(value));
    default:
      return false;
  }
}
