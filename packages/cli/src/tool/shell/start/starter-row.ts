import { type ShellWord, sliceWord } from "../shell-word.ts";

/** Options of a program: letters, and names separated by spaces. Names may be abbreviated, as in GNU programs. */
export interface OptionGrammar {
  /** Letters without a value; `#` for a number. */
  readonly flags?: string;
  readonly values?: string;
  /** Letters whose value is a shell script. */
  readonly scripts?: string;
  readonly longFlags?: string;
  readonly longValues?: string;
  readonly longScripts?: string;
  /** The number of words that precede the program, such as a time. */
  readonly operands?: number;
}

interface ParsedOptions {
  readonly operands: readonly ShellWord[];
  readonly scripts: readonly ShellWord[];
  /** From the first word after options and operands. */
  readonly rest: readonly ShellWord[];
  /** The letters and names that were given. */
  readonly given: ReadonlySet<string>;
  /** `unclear`: an option that is not in the grammar, so the next word may be its value. */
  readonly sight: "clear" | "unclear";
}

type OptionKind = "flag" | "value" | "script" | "unknown";

export function parseOptions(args: readonly ShellWord[], grammar: OptionGrammar): ParsedOptions {
  const [operands, scripts, given] = [[] as ShellWord[], [] as ShellWord[], new Set<string>()];
  let sight: ParsedOptions["sight"] = "clear";
  let at = 0;
  const take = (kind: OptionKind, joined: ShellWord | undefined): void => {
    if (kind === "unknown") sight = "unclear";
    if (kind !== "value" && kind !== "script") return;
    if (joined === undefined) at += 1;
    const value = joined ?? args[at];
    if (kind === "script" && value !== undefined) scripts.push(value);
  };
  for (; at < args.length; at += 1) {
    const arg = args[at];
    if (arg === undefined || arg.value === "--") break;
    if (!arg.value.startsWith("-")) {
      if (operands.length === (grammar.operands ?? 0)) break;
      operands.push(arg);
    } else if (arg.value.startsWith("--")) {
      const [name = "", joined] = arg.value.slice(2).split(/=(.*)/s, 2);
      given.add(name);
      const kind = longKind(name, grammar);
      take(kind, joined === undefined ? undefined : sliceWord(arg, name.length + 3));
    } else takeLetters(arg, { grammar, given, take });
  }
  return { operands, scripts, given, sight, rest: args.slice(args[at]?.value === "--" ? at + 1 : at) };
}

/** `-xvalue`, `-x value` and `-abx value`. */
function takeLetters(
  arg: ShellWord,
  {
    grammar,
    given,
    take,
  }: {
    readonly grammar: OptionGrammar;
    readonly given: Set<string>;
    readonly take: (kind: OptionKind, joined: ShellWord | undefined) => void;
  },
): void {
  for (let index = 1; index < arg.value.length; index += 1) {
    const letter = arg.value.charAt(index);
    const kind = letterKind(letter, grammar);
    given.add(letter);
    if (kind !== "flag") {
      take(kind, index + 1 < arg.value.length ? sliceWord(arg, index + 1) : undefined);
      return;
    }
  }
}

function letterKind(letter: string, { flags = "", values = "", scripts = "" }: OptionGrammar): OptionKind {
  if (scripts.includes(letter)) return "script";
  if (values.includes(letter)) return "value";
  return flags.includes(/\d/.test(letter) ? "#" : letter) ? "flag" : "unknown";
}

function longKind(name: string, { longFlags = "", longValues = "", longScripts = "" }: OptionGrammar): OptionKind {
  const lists = [
    ["flag", longFlags],
    ["value", longValues],
    ["script", longScripts],
  ] as const;
  const kinds = lists.filter(([, names]) => names.split(" ").some((known) => known.startsWith(name)));
  const exact = kinds.find(([, names]) => names.split(" ").includes(name));
  const [first, ...others] = kinds;
  return exact?.[0] ?? (first === undefined || others.length > 0 ? "unknown" : first[0]);
}

/** What a program starts when it is given a program or a script. */
export interface StartedPrograms {
  readonly commands: readonly (readonly ShellWord[])[];
  /** Texts that a shell runs. */
  readonly scripts: readonly ShellWord[];
  /** `unclear`: it may start other programs too. */
  readonly sight: "clear" | "unclear";
}

export const startsNothing: StartedPrograms = { commands: [], scripts: [], sight: "clear" };
export const startsAnything: StartedPrograms = { commands: [], scripts: [], sight: "unclear" };
export const startsCommand = (words: readonly ShellWord[]): StartedPrograms => ({
  ...startsNothing,
  commands: [words],
});
export const startsScripts = (scripts: readonly ShellWord[]): StartedPrograms => ({ ...startsNothing, scripts });

/** What a shell gets if it is given several words for one line. */
export const joinToLine = (words: readonly ShellWord[]): ShellWord => ({
  kind: words.every(({ kind }) => kind === "plain") ? "plain" : "dynamic",
  value: words.map(({ value }) => value).join(" "),
});

export type StarterRow = (args: readonly ShellWord[]) => StartedPrograms;

export interface StarterInput {
  readonly args: readonly ShellWord[];
  /** Its literal input, and values that are set for it. */
  readonly texts: readonly ShellWord[];
}
