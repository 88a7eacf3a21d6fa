import { parseLine, type ShellLine, type ShellRedirect, type SimpleCommand } from "./parse-line.ts";
import type { ShellWord } from "./shell-word.ts";
import { placeValues } from "./place-values.ts";
import { isHarmless, isKnownProgram, takesFiles } from "./is-harmless.ts";

/**
 * What a line would do, without running it. `read-only` is a promise, provided that the files its patterns match are
 * harmless too, which `resolveReads` checks on disk; anything that is not proved is `unknown`.
 */
type ShellEffect =
  | { readonly kind: "read-only"; readonly reading: LineReads }
  /** `reading` is undefined if the line can't be parsed. */
  | { readonly kind: "unknown"; readonly why: string; readonly reading: LineReads | undefined };

/** What the known programs of a line may read, whatever its other commands do. */
export interface LineReads {
  /** Words that may name what is read, relative to any of `folders` or to where the line starts. */
  readonly named: readonly NamedWord[];
  /** The targets of its `cd`s, in order. */
  readonly folders: readonly string[];
  /** The programs of its read-only commands. */
  readonly programs: ReadonlySet<string>;
  /** `unclear`: a command may change the shell itself, and with it the folder and meaning of the other commands. */
  readonly shell: "same" | "unclear";
  /** Possible values of `~`, `$HOME` and `$PWD`. */
  readonly values: readonly string[];
  /** Commands that are harmless or not depending on what the shell expands their words to. */
  readonly open: readonly SimpleCommand[];
}

export interface NamedWord {
  readonly word: ShellWord;
  /** The command's index in the line; undefined for a redirect. */
  readonly command: number | undefined;
  readonly program: string | undefined;
}

export function analyzeEffect(source: string): ShellEffect {
  const line = parseLine(source);
  if (line.kind === "unclear") return { kind: "unknown", why: line.why, reading: undefined };
  const words = line.commands.map((one) => one.words);
  const reading: LineReads = { ...collectReads(line), values: placeValues(source, words) };
  const why = findDoubt(line);
  return why === undefined ? { kind: "read-only", reading } : { kind: "unknown", why, reading };
}

type ClearLine = Extract<ShellLine, { kind: "line" }>;

function findDoubt(line: ClearLine): string | undefined {
  const [beyond] = line.beyond;
  if (beyond !== undefined) return `it uses ${beyond}`;
  const variable = [...line.variables, ...line.commands.flatMap(({ variables }) => variables)].find(
    (name) => !isHarmlessVariable(name),
  );
  if (variable !== undefined) return `it uses the variable ${variable}`;
  const redirect = line.redirects.find((one) => !isHarmlessRedirect(one));
  if (redirect !== undefined) return `it redirects with ${redirect.operator}`;
  const command = line.commands.find((one) => judgeCommand(one) === "unknown");
  return command && `not known to be harmless: ${command.words[0]?.value ?? "an assignment"}`;
}

function collectReads({ commands, redirects }: ClearLine): Omit<LineReads, "values"> {
  const named = commands.flatMap((one, command) =>
    fileWords(one).map((word): NamedWord => ({ word, command, program: one.words[0]?.value })),
  );
  const harmless = commands.filter((one) => judgeCommand(one) !== "unknown");
  const inputs = inputWords(redirects).map((word): NamedWord => ({ word, command: undefined, program: undefined }));
  return {
    named: [...named, ...inputs],
    folders: commands
      .flatMap(({ words }) => (words[0]?.value === "cd" ? words.slice(1) : []))
      .map(({ value }) => value),
    programs: new Set(harmless.flatMap(({ words }) => words.slice(0, 1).map(({ value }) => value))),
    shell: commands.every((one) => harmless.includes(one) || isOtherProgram(one)) ? "same" : "unclear",
    open: harmless.filter((one) => judgeCommand(one) === "open"),
  };
}

/** Words that may name files. Some programs take no files, but the shell still expands a pattern among their words. */
function fileWords({ words }: SimpleCommand): readonly ShellWord[] {
  const [name, ...args] = words;
  if (name === undefined || !isKnownProgram(name.value)) return [];
  return takesNoFile.has(name.value) ? args.filter((arg) => arg.kind === "glob") : args;
}

/** A separate process: changing its own folder and variables does not affect the rest of the line. */
const isOtherProgram = ({ words: [name] }: SimpleCommand): boolean =>
  name?.kind === "plain" && !builtins.has(name.value);

/** Builtins of bash that do more than print something. A command without a name is an assignment. */
const builtins: ReadonlySet<string> = new Set(
  (
    ". alias bind builtin cd chdir command complete compopt declare dirs enable eval exec exit export fc getopts hash " +
    "history let local mapfile popd printf pushd read readarray readonly return set shift shopt source trap typeset " +
    "ulimit umask unalias unset"
  ).split(" "),
);

const takesNoFile: ReadonlySet<string> = new Set(
  ": basename date dirname echo false printf pwd seq tr true type uname which whoami".split(" "),
);

/**
 * Whether a simple command changes nothing, whatever files exist; redirects and the syntax around it are not
 * considered.
 */
export const isReadOnly = (command: SimpleCommand): boolean => judgeCommand(command) === "read-only";

/** `open`: it depends on what the shell expands its words to. */
function judgeCommand({ words, assigns, variables }: SimpleCommand): "read-only" | "open" | "unknown" {
  const [name, ...args] = words;
  if (!variables.every(isHarmlessVariable)) return "unknown";
  if (name?.kind !== "plain" || !assigns.every((variable) => harmlessAssigns.has(variable))) return "unknown";
  const values = args.map((arg) => arg.value);
  if (!isHarmless(name.value, values)) return "unknown";
  // echo takes any word as it is. Elsewhere a dynamic word may turn out to be an option or a file name.
  if (name.value === "echo") return "read-only";
  if (args.some(({ kind, pieces }) => kind === "dynamic" && pieces === undefined)) return "unknown";
  const notPlain = args.filter(({ kind }) => kind !== "plain");
  if (notPlain.some((word) => word.value.startsWith("-") && !isNamedOption(word)) || !mayExpand(name.value, args))
    return "unknown";
  const isAlwaysFile = ({ kind, value }: ShellWord): boolean =>
    kind === "glob" && (takesAnyName.has(name.value) || (takesFiles(name.value) && !/^[*?[]/.test(value)));
  return notPlain.every(isAlwaysFile) ? "read-only" : "open";
}

/** `--include=*.ts`: every match is a value of that option. */
const isNamedOption = ({ kind, pieces: [first] = [] }: ShellWord): boolean =>
  kind === "glob" && first?.kind === "plain" && /^--\w[\w-]*=/.test(first.text);

/** Whether the words that are not files to the program, such as its format or script, are plain. */
function mayExpand(program: string, args: readonly ShellWord[]): boolean {
  switch (program) {
    case "cd":
      return args.every(({ kind }) => kind === "plain");
    case "printf":
      return args[0]?.kind !== "glob" && args[0]?.kind !== "dynamic";
    case "sed":
      return args.every(({ kind }, index) => kind === "plain" || isBehindScript(args.slice(0, index)));
    default:
      return true;
  }
}

const isBehindScript = (before: readonly ShellWord[]): boolean =>
  before.at(-1)?.value.startsWith("-") === false &&
  before.some(({ kind, value }) => kind === "plain" && !value.startsWith("-"));

/** Whether a command is harmless with its expanded words. */
export const isHarmlessExpanded = (program: string, args: readonly ExpandedWord[]): boolean =>
  (takesAnyName.has(program) ||
    args.every(({ value, from }) => from.kind === "plain" || isNamedOption(from) || !value.startsWith("-"))) &&
  isHarmless(
    program,
    args.map(({ value }) => value),
  );

export interface ExpandedWord {
  readonly value: string;
  readonly from: ShellWord;
}

/** They have no harmful options, so a file called `-o` is harmless too. */
const takesAnyName: ReadonlySet<string> = new Set(["cat", "echo", "head", "ls", "stat", "tail"]);

/** Variables that affect formatting, not which program runs. */
export const harmlessAssigns: ReadonlySet<string> = new Set([
  "COLUMNS",
  "LANG",
  "LC_ALL",
  "LC_COLLATE",
  "NO_COLOR",
  "TZ",
]);

/** The values of other variables may be secrets. */
const harmlessVariables: ReadonlySet<string> = new Set([
  "?",
  "$",
  "#",
  "HOME",
  "LANG",
  "OLDPWD",
  "PATH",
  "PWD",
  "SHELL",
  "USER",
]);

export const isHarmlessVariable = (name: string): boolean => harmlessVariables.has(name);

export function isHarmlessRedirect({ operator, target }: ShellRedirect): boolean {
  switch (operator) {
    case "<<":
    case "<<-":
    case "<<<":
      return true;
    case "<":
      // The shell opens network connections under names such as /dev/tcp/….
      return target?.kind === "plain" && (target.value === "/dev/null" || !/^\/+(dev|proc)\b/.test(target.value));
    case "<&":
      return target?.kind === "plain" && /^(\d+|-)$/.test(target.value);
    case ">&":
      return target?.kind === "plain" && /^(\d+|-|\/dev\/null)$/.test(target.value);
    case ">":
    case ">>":
    case ">|":
    case "&>":
    case "&>>":
      return target?.kind === "plain" && target.value === "/dev/null";
    default:
      return false;
  }
}

const inputWords = (redirects: readonly ShellRedirect[]): readonly ShellWord[] =>
  redirects.flatMap(({ operator, target }) => (operator === "<" && target !== undefined ? [target] : []));
