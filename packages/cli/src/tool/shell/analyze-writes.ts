import type { ShellRedirect } from "./parse-line.ts";
import { type ShellWord, sliceWord, splitGitArgs } from "./shell-word.ts";
import { harmlessAssigns } from "./analyze-effect.ts";
import { placeValues, changesMeaning, mayRunSubscript, variablesSet } from "./place-values.ts";
import { isHarmless, isKnownProgram, isInert } from "./is-harmless.ts";
import { feeders } from "./start/analyze-starter.ts";
import { bareName, collectCommands, folderTargets } from "./collect-commands.ts";

/** What a line would change by redirects and by programs that are known to change files. Nothing is expanded. */
export interface LineWrites {
  readonly named: readonly WrittenWord[];
  /** The targets of its `cd`s, in order. */
  readonly folders: readonly ShellWord[];
  /** Possible values of `~`, `$HOME` and `$PWD`. */
  readonly values: readonly string[];
  /** `unclear`: a program of the line may change other files too. */
  readonly sight: "clear" | "unclear";
}

export interface WrittenWord {
  readonly word: ShellWord;
  /** If set, the changed file has this word's last name and is in the folder `word`. */
  readonly nameOf?: ShellWord;
  /** Appended to the name. */
  readonly suffix?: string;
  /** `new`: like `below` if there is no such folder, otherwise like `itself`. */
  readonly reach: "itself" | "below" | "new";
}

export function analyzeWrites(source: string): LineWrites {
  const nested = collectCommands(source);
  const written = nested.commands.map((words) => commandWrites(words)).filter((one) => one !== undefined);
  const redirected = nested.redirects.flatMap(outputWords);
  const folders = nested.commands.flatMap(folderTargets);
  const values = placeValues(source, nested.commands);
  const set = nested.commands.map(variablesSet);
  const names = [...nested.assigns, ...set.flatMap((one) => one.names)];
  const count = new Set(nested.commands.map((words) => JSON.stringify(bareWords(words)))).size;
  const isFed = nested.commands.some(([name, ...args]) => feeders.has(name?.value ?? "") && args.some(isWriter));
  const isUnclear =
    nested.sight === "unclear" ||
    isFed ||
    (nested.commands.some(isShifting) && (redirected.length > 0 || count > 1)) ||
    values.length > 0 ||
    nested.commands.some((words) => mayRunSubscript(words) || changesMeaning(words)) ||
    set.some(({ sight }) => sight === "unclear") ||
    !names.every(isHarmlessName) ||
    folders.some(isUnseen) ||
    written.some(({ sight }) => sight === "unclear");
  return {
    named: [...written.flatMap(({ named }) => named), ...redirected],
    folders,
    values,
    sight: isUnclear ? "unclear" : "clear",
  };
}

/** Whether this analysis covers the command: the files it changes are known, or are known to be unpredictable. */
export const isWriteKnown = (words: readonly ShellWord[]): boolean =>
  words.length === 0 || commandWrites(words) !== undefined;

/** Variables that affect programs are in capitals: which program runs, what it loads, what it starts. */
const isHarmlessName = (variable: string): boolean => harmlessAssigns.has(variable) || /^[a-z_\d]*$/.test(variable);

const bareWords = ([name, ...args]: readonly ShellWord[]): readonly string[] =>
  name === undefined ? [] : [bareName(name), ...args].map(({ value }) => value);

/** Whether links or folders may lead elsewhere after it has run. */
function isShifting([name, ...args]: readonly ShellWord[]): boolean {
  switch (name?.value) {
    case "ln":
    case "mv":
      return true;
    case "cp":
      return args.some(
        ({ kind, value, pieces }) =>
          (kind === "dynamic" && pieces === undefined) || /^-[^-]*[slPdaRr]|^--(a|l|no-d|p|r|sy)/.test(value),
      );
    case "git":
      return /^(checkout|mv|restore)$/.test(args[0]?.value ?? "");
    default:
      return false;
  }
}

function outputWords({ operator, target }: ShellRedirect): readonly WrittenWord[] {
  if (target === undefined || !outputs.has(operator)) return [];
  if (operator === ">&" && /^(\d+|-)$/.test(target.value)) return [];
  return [itself(target)];
}

const outputs: ReadonlySet<string> = new Set([">", ">>", ">|", "&>", "&>>", ">&", "<>"]);

interface CommandWrites {
  readonly named: readonly WrittenWord[];
  readonly sight: "clear" | "unclear";
}

type Row = (args: readonly ShellWord[]) => CommandWrites | undefined;

/** Undefined: not a known program. */
function commandWrites([name, ...args]: readonly ShellWord[]): CommandWrites | undefined {
  if (name?.kind !== "plain") return undefined;
  const program = bareName(name).value;
  const row = rowByProgram.get(program);
  if (row !== undefined) return row(args);
  if (isInert(program) || stillBuiltins.has(program)) return writesNothing;
  // It may then be given any file to write to.
  if (!isKnownProgram(program)) return args.some(isUnseen) ? writesAnything : undefined;
  return isHarmlessWith(program, args) ? writesNothing : writesAnything;
}

/** Whether the shell's expansion of it is unknown. */
const isUnseen = ({ kind, pieces }: ShellWord): boolean => kind === "dynamic" && pieces === undefined;

const isWriter = (word: ShellWord): boolean => rowByProgram.has(bareName(word).value);

/** Builtins that change the shell but no file. */
const stillBuiltins: ReadonlySet<string> = new Set(
  "[ break continue declare exit export kill local popd pushd read readonly return set shift sleep test typeset unset wait".split(
    " ",
  ),
);

const writesNothing: CommandWrites = { named: [], sight: "clear" };
const writesAnything: CommandWrites = { named: [], sight: "unclear" };
const writesOnly = (named: readonly WrittenWord[]): CommandWrites => ({ named, sight: "clear" });

const itself = (word: ShellWord): WrittenWord => ({ word, reach: "itself" });
const below = (word: ShellWord): WrittenWord => ({ word, reach: "below" });

function operandWords(args: readonly ShellWord[]): readonly ShellWord[] {
  const end = args.findIndex(({ value }) => value === "--");
  const before = end === -1 ? args : args.slice(0, end);
  const after = end === -1 ? [] : args.slice(end + 1);
  return [...before.filter(({ value }) => !value.startsWith("-")), ...after];
}

const hasOption = (args: readonly ShellWord[], form: RegExp): boolean => args.some(({ value }) => form.test(value));

const recursive = /^-[^-]*[rRa]|^--(r|a)/;

/** Changes every operand. */
const everyOperand: Row = (args) => writesOnly(operandWords(args).map(hasOption(args, recursive) ? below : itself));

/** Writes to the last operand or to the value of `-t`: to that file itself, or to each source's name in that folder. */
function intoLast(args: readonly ShellWord[], reach: "itself" | "below"): readonly WrittenWord[] {
  const operands = operandWords(args);
  const folders = [...operands.slice(-1), ...targetOptions(args)];
  const asNew = reach === "below" ? "new" : "itself";
  return folders.flatMap((word): readonly WrittenWord[] => [
    { word, reach: asNew },
    ...operands.map((nameOf): WrittenWord => ({ word, nameOf, reach })),
  ]);
}

function targetOptions(args: readonly ShellWord[]): readonly ShellWord[] {
  return args.flatMap((arg, index) => {
    const joined = /^(?:-[^-]*?t|--t[^=]*=)(?<rest>.*)$/s.exec(arg.value)?.groups?.["rest"];
    const next = args[index + 1];
    if (joined !== undefined && joined !== "") return [sliceWord(arg, arg.value.length - joined.length)];
    return (joined === "" || arg.value.startsWith("--t")) && next !== undefined ? [next] : [];
  });
}

const copy: Row = (args) => {
  const isFolders = hasOption(args, /^-[^-]*d$|^--directory/);
  const isLinking = hasOption(args, /^-[^-]*[ls]|^--(l|sy)/);
  const reach = hasOption(args, recursive) ? "below" : "itself";
  const sources = operandWords(args).map((word): WrittenWord => ({ word, reach }));
  // With `--parents` the source's folders are created in the target.
  const deep = hasOption(args, /^--pa/) ? [...operandWords(args).slice(-1), ...targetOptions(args)].map(below) : [];
  return withBackups(args, [...intoLast(args, reach), ...deep, ...(isFolders || isLinking ? sources : [])]);
};

/** The previous file may be kept under a name with a suffix. */
function withBackups(args: readonly ShellWord[], named: readonly WrittenWord[]): CommandWrites {
  if (!hasOption(args, /^-[^-]*[bS]|^--(b|su)/)) return writesOnly(named);
  const suffixes = args.flatMap(({ value }, index) => {
    const joined = /^(?:-[^-]*?S|--su[^=]*=)(?<rest>.*)$/s.exec(value)?.groups?.["rest"];
    return joined === undefined && !value.startsWith("--su") ? [] : [joined || (args[index + 1]?.value ?? "")];
  });
  const kept = named.flatMap((one) => ["~", ...suffixes].map((suffix): WrittenWord => ({ ...one, suffix })));
  return { named: [...named, ...kept], sight: "unclear" };
}

const move: Row = (args) => withBackups(args, [...intoLast(args, "below"), ...operandWords(args).map(below)]);

/** A link to a file is a way to change it, so linked files count as changed. */
const link: Row = (args) => {
  const operands = operandWords(args);
  const here: ShellWord = { kind: "plain", value: "." };
  const alone = operands.map((nameOf): WrittenWord => ({ word: here, nameOf, reach: "itself" }));
  const created = [...intoLast(args, "itself"), ...(operands.length === 1 ? alone : [])];
  return withBackups(args, [...created, ...operands.map(itself)]);
};

const sed: Row = (args) => {
  const inPlace = /^-[nErsuz]*i|^--in/;
  const scripted = args.filter(({ value }) => !inPlace.test(value));
  const suffixes = args.flatMap((arg) => {
    const suffix = /^(?:-[nErsuz]*i|--in[^=]*=)(?<suffix>.+)$/s.exec(arg.value)?.groups?.["suffix"];
    return suffix === undefined ? [] : [{ kind: arg.kind, suffix }];
  });
  // A star stands for the file's name, and a slash leads elsewhere.
  const isOdd = suffixes.some(({ kind, suffix }) => kind !== "plain" || /[*/]/.test(suffix));
  const files = scripted.length === args.length ? [] : operandWords(args);
  const kept = files.flatMap((word) => suffixes.map(({ suffix }): WrittenWord => ({ ...itself(word), suffix })));
  return {
    named: [...files.map(itself), ...kept],
    sight: isHarmlessWith("sed", scripted) && !isOdd ? "clear" : "unclear",
  };
};

const isHarmlessWith = (program: string, args: readonly ShellWord[]): boolean =>
  !args.some(isUnseen) &&
  isHarmless(
    program,
    args.map(({ value }) => value),
  );

/** Harmless except for options that name a file to write. */
const outputOption =
  (program: string): Row =>
  (args) => {
    if (isHarmlessWith(program, args)) return writesNothing;
    const values = args.flatMap((arg) => {
      const equals = arg.value.indexOf("=");
      return [arg, sliceWord(arg, 2), ...(equals === -1 ? [] : [sliceWord(arg, equals + 1)])];
    });
    return { named: values.filter(({ value }) => value !== "").map(itself), sight: "unclear" };
  };

const git: Row = (args) => {
  if (isHarmlessWith("git", args)) return writesNothing;
  const { rest, settings } = splitGitArgs(args);
  const [subcommand, ...operands] = rest;
  if (subcommand?.kind !== "plain" || settings.length > 0) return undefined;
  // Another repository's settings, or replacements of git's own programs.
  if (hasOption(args.slice(0, args.length - rest.length), /^--(config|exec|git|work)/)) return writesAnything;
  const written = (rowByGit.get(subcommand.value) ?? gitOutput)(operands);
  // Git expands its own patterns, and `:` starts at the top of the repository; the shell does neither.
  const isOdd = written?.named.some(({ word }) => word.kind === "plain" && /^:|[*?[]/.test(word.value)) ?? false;
  return isOdd && written !== undefined ? { ...written, sight: "unclear" } : written;
};

/** Commands that write a file only if an option names one. */
const gitOutput: Row = (args) => {
  const named = args.flatMap((arg, index): readonly ShellWord[] => {
    const joined = /^(?:-o|--ou[^=]*=)(?<file>.+)$/s.exec(arg.value)?.groups?.["file"];
    if (joined !== undefined) return [sliceWord(arg, arg.value.length - joined.length)];
    return /^(?:-o|--ou[^=]*)$/.test(arg.value) ? args.slice(index + 1, index + 2) : [];
  });
  return named.length > 0 || args.some(isUnseen) ? { named: named.map(below), sight: "unclear" } : undefined;
};

/** Writes to the given folders, or to the current one. */
const gitInit: Row = (args) => {
  const targets = args.flatMap((arg) => {
    const equals = arg.value.indexOf("=");
    return arg.value.startsWith("-") ? (equals === -1 ? [] : [sliceWord(arg, equals + 1)]) : [arg];
  });
  return writesOnly([...targets, { kind: "plain", value: ".git" } as const].map(below));
};

const gitPaths: Row = (args) => ({
  named: operandWords(args).map(below),
  sight: hasOption(args, /^--pathspec/) ? "unclear" : "clear",
});

const isTransfer = (args: readonly ShellWord[]): boolean =>
  args.every(({ kind, value }) => kind !== "dynamic" && !/^--(e|upl|rece)/.test(value));

/** A setting may name a program that other commands run. */
const gitConfig: Row = (args) => {
  if (args.every(({ kind }) => kind === "plain") && /^(-l|--list|--get.*|get|list)$/.test(args[0]?.value ?? ""))
    return writesNothing;
  const files = args.flatMap((arg, index) => {
    const joined = /^(?:-f|--f[^=]*=)(?<file>.+)$/s.exec(arg.value)?.groups?.["file"];
    if (joined !== undefined) return [sliceWord(arg, arg.value.length - joined.length)];
    return /^(-f|--fi(le?)?)$/.test(arg.value) ? args.slice(index + 1, index + 2) : [];
  });
  return { named: files.map(itself), sight: "unclear" };
};

const rowByGit: ReadonlyMap<string, Row> = new Map<string, Row>([
  // Write only the repository's own files.
  ..."add branch commit gc notes remote tag".split(" ").map((name): [string, Row] => [name, () => writesNothing]),
  // May also write on the other side, if an option names the program to run there.
  ...["fetch", "push"].map((name): [string, Row] => [
    name,
    (args) => (isTransfer(args) ? writesNothing : writesAnything),
  ]),
  ["config", gitConfig],
  ...["init", "init-db"].map((name): [string, Row] => [name, gitInit]),
  ...(
    "am apply bisect checkout-index cherry-pick clone filter-branch merge pull read-tree rebase revert " +
    "sparse-checkout stash submodule subtree switch worktree"
  )
    .split(" ")
    .map((name): [string, Row] => [name, () => writesAnything]),
  ["reset", (args) => (hasOption(args, /^--(h|m|k)/) ? writesAnything : writesNothing)],
  [
    "checkout",
    // Without `--` a word may be a branch, and then any file may change.
    (args) => ({ ...writesOnly(operandWords(args).map(below)), sight: hasOption(args, /^--$/) ? "clear" : "unclear" }),
  ],
  [
    "clean",
    (args) => (operandWords(args).length === 0 ? writesOnly([below({ kind: "plain", value: "." })]) : gitPaths(args)),
  ],
  ["mv", move],
  ["restore", gitPaths],
  ["rm", gitPaths],
]);

const rowByProgram: ReadonlyMap<string, Row> = new Map<string, Row>([
  ..."chgrp chmod chown mkdir mkfifo rm rmdir shred tee touch truncate unlink"
    .split(" ")
    .map((program): [string, Row] => [program, everyOperand]),
  ["cp", copy],
  ["install", copy],
  ["mv", move],
  ["ln", link],
  ["link", link],
  ["dd", (args) => writesOnly(args.flatMap((arg) => (arg.value.startsWith("of=") ? [itself(sliceWord(arg, 3))] : [])))],
  ["sed", sed],
  ["git", git],
  ["find", (args) => (isHarmlessWith("find", args) ? writesNothing : writesAnything)],
  ...["sort", "tree", "uniq"].map((program): [string, Row] => [program, outputOption(program)]),
  // What they write is determined by what they read.
  ..."cpio ed ex patch rsync scp tar unzip vi vim wget"
    .split(" ")
    .map((program): [string, Row] => [program, () => writesAnything]),
]);
