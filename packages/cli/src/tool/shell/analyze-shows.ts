import type { ShellRedirect } from "./parse-line.ts";
import { placeValues } from "./place-values.ts";
import { isHarmless } from "./is-harmless.ts";
import {
  showsNames,
  showsNothing,
  withOthers,
  type CommandShows,
  type ShownWord,
  analyzeGitShows,
} from "./analyze-git-shows.ts";
import { splitGitArgs, type ShellWord } from "./shell-word.ts";
import { bareName, collectCommands, folderTargets } from "./collect-commands.ts";

/**
 * Which file contents a line may show, whatever its programs are. Nothing is expanded. Of an unknown program such as
 * `make`, only the words are considered: only a sandbox can limit what it reads by itself.
 */
export interface LineShows extends CommandShows {
  /** The targets of its `cd`s, in order. */
  readonly folders: readonly ShellWord[];
  /** Possible values of `~`, `$HOME` and `$PWD`. */
  readonly values: readonly string[];
}

export function analyzeShows(source: string): LineShows {
  const nested = collectCommands(source);
  const values = placeValues(source, nested.commands);
  const folders = nested.commands.flatMap(folderTargets);
  const shown = [...nested.commands.map(commandShows), ...nested.redirects.map(inputShows)];
  // Values of variables that programs use, and texts given to their input.
  const texts = nested.unknown.flatMap(({ words, text }) => (words.length === 0 && text !== "" ? [text] : []));
  const named = [
    ...shown.flatMap((one) => one.named),
    ...texts.map((value): ShownWord => ({ word: { kind: "plain", value }, reach: "itself", as: "text" })),
  ];
  const isUnclear =
    nested.sight === "unclear" ||
    folders.some(({ kind }) => kind !== "plain") ||
    gitVariable.test(source) ||
    // The files that a pattern will match may not exist yet.
    (nested.commands.some(isRestoring) && named.some(({ word }) => word.kind !== "plain"));
  return {
    named,
    folders,
    values,
    others: isUnclear || shown.some(({ others }) => others === "perhaps") ? "perhaps" : "none",
  };
}

/** Other variables make git use another repository, put files elsewhere or start programs. */
const gitVariable =
  /\bGIT_(?!(?:AUTHOR|COMMITTER)_|OPTIONAL_LOCKS\b|TERMINAL_PROMPT\b|PAGER=cat\b|EDITOR=(?:true|:)(?:\s|$))[A-Z_]+/;

/** Whether it restores files from the history. */
const isRestoring = ([name, ...args]: readonly ShellWord[]): boolean =>
  name?.value === "git" && restoring.has(splitGitArgs(args).rest[0]?.value ?? "");

const restoring: ReadonlySet<string> = new Set(
  "am apply bisect checkout checkout-index cherry-pick clone merge pull read-tree rebase reset restore revert stash submodule switch worktree".split(
    " ",
  ),
);

function inputShows({ operator, target }: ShellRedirect): CommandShows {
  return target !== undefined && (operator === "<" || operator === "<>")
    ? showsNames([target], "itself")
    : showsNothing;
}

type Row = (args: readonly ShellWord[]) => CommandShows;

function commandShows([name, ...args]: readonly ShellWord[]): CommandShows {
  if (name === undefined) return showsNothing;
  const program = bareName(name).value.toLowerCase();
  return (rowByProgram.get(program) ?? (interpreter.test(program) ? interpreterRow : anyWord))(args);
}

const nothingShown: Row = () => showsNothing;

/** Every word of an unknown program may name a file that it reads. */
const anyWord: Row = (args) => {
  const { named, others } = showsNames(args, "itself");
  return { named: named.map((one): ShownWord => ({ ...one, as: "text" })), others };
};

const operandWords = (args: readonly ShellWord[]): readonly ShellWord[] =>
  args.filter(({ value }) => !value.startsWith("-"));

const hasOption = (args: readonly ShellWord[], form: RegExp): boolean => args.some(({ value }) => form.test(value));

const here: ShellWord = { kind: "plain", value: "." };

/**
 * A search whose options are all in `plainOptions`: a pattern, then folders. With other options, it may read anything.
 */
const searchRow =
  (plainOptions: RegExp): Row =>
  (args) => {
    const options = args.filter(({ value }) => value.startsWith("-"));
    const [, ...places] = operandWords(args);
    if (options.every(({ value }) => plainOptions.test(value)) && args.every(({ kind }) => kind === "plain"))
      return showsNames(places.length === 0 ? [here] : places, "below");
    return withOthers(
      showsNames(
        args.filter(({ value }) => !/^--(?:exclude|glob|iglob|ignore)/.test(value)),
        "itself",
      ),
    );
  };

const searchFlags = /^-(?:[ABCm]\d+|[achHiIlLnoqsUvwxEFGPS]+)$|^--(?:hidden|no-ignore|line-number|ignore-case)$/;
const grepFlags = /^-(?:[ABCm]\d+|[acEFGhHiIlLnoPqrsUvwxz]+)$|^--(?:recursive|line-number|ignore-case)$/;

const grepRow: Row = (args) =>
  hasOption(args, /^-[^-]*[rRd]|^--(?:r|de|di)/) ? searchRow(grepFlags)(args) : showsNames(args, "itself");

/** A copy can be read elsewhere; the last operand is the target. */
const copyRow =
  (reach: (args: readonly ShellWord[]) => ShownWord["reach"]): Row =>
  (args) => {
    const operands = operandWords(args);
    const isTargetFirst = hasOption(args, /^-[^-]*t|^--t/);
    return showsNames(isTargetFirst || operands.length < 2 ? args : operands.slice(0, -1), reach(args));
  };

/** May take names from a list or from the input, or relative to another folder. */
const packRow: Row = (args) => {
  const shown = showsNames(args, "below");
  return hasOption(args, /^-[^-]*[TCX@]|^--|^[a-zA-Z]*[TCX][a-zA-Z]*$/) ? withOthers(shown) : shown;
};

const findRow: Row = (args) => {
  const at = args.findIndex(({ value }) => /^-(?:exec|ok)/.test(value));
  const isDynamic = args.some(({ kind }) => kind === "dynamic");
  if (at === -1) return isDynamic ? withOthers(showsNothing) : showsNothing;
  const program = args[at + 1];
  return isQuiet(program) && !hasOption(args.slice(at + 1), /^-(?:exec|ok)/)
    ? showsNothing
    : withOthers(showsNames(args, "itself"));
};

/** `rm`, `echo`: programs that don't show the content of their arguments. */
const isQuiet = (program: ShellWord | undefined): boolean =>
  program?.kind === "plain" && rowByProgram.get(bareName(program).value) === nothingShown;

/** An unknown option may take the program's name as its value. */
const feedRow: Row = (args) => {
  let at = 0;
  while (/^(?:-[0rt]+|-[nPLs]\d+|--null|--no-run-if-empty)$/.test(args[at]?.value ?? "")) at += 1;
  if (/^-[nPLIds]$/.test(args[at]?.value ?? "")) at += 2;
  return isQuiet(args[at]) ? showsNothing : withOthers(showsNames(args, "itself"));
};

const interpreter = /^(?:node|nodejs|deno|bun|python[\d.]*|pypy\d*|perl|ruby|php|lua[\d.]*|rscript|tclsh)$/;

/**
 * Code in a word or from the input may read anything. Code in a file is the project's own, like the recipes of `make`.
 */
const interpreterRow: Row = (args) => {
  const isInline = hasOption(args, /^-(?!-)(?!m$|v$|V$)[a-zA-Z]*[cepErnB]|^--(?:eval|print|run)|^eval$|^-$/);
  const hasFile = operandWords(args).length > 0 || hasOption(args, /^--(?:test|version|check)|^-[mvV]$/);
  return isInline || !hasFile ? withOthers(anyWord(args)) : anyWord(args);
};

const awkRow: Row = (args) =>
  hasOption(args, /getline|system|ARG|\||@|^-[fEil]|^--(?!version)/) ? withOthers(anyWord(args)) : anyWord(args);

const sedRow: Row = (args) => {
  const scripted = args.map(({ value }) => value).filter((value) => !/^-[nErsuz]*i|^--in/.test(value));
  return isHarmless("sed", scripted) ? showsNames(args, "itself") : withOthers(anyWord(args));
};

/** They read the files that their input or a script names. */
const scriptRow: Row = (args) => withOthers(anyWord(args));

const jqRow: Row = (args) =>
  isHarmless(
    "jq",
    args.map(({ value }) => value),
  )
    ? showsNames(args, "itself")
    : scriptRow(args);

const rows = (programs: string, row: Row): readonly (readonly [string, Row])[] =>
  programs.split(" ").map((program) => [program, row] as const);

const copyReach = (args: readonly ShellWord[]): ShownWord["reach"] =>
  hasOption(args, /^-[^-]*[rRa]|^--(?:r|a)/) ? "below" : "itself";

const rowByProgram: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...rows(
    ": [ arch basename break cd chgrp chmod chown continue declare df dirname echo exit export false groups hostname id " +
      "kill local ls mkdir mkfifo nproc popd printf ps pushd pwd read readlink readonly realpath return rm rmdir seq set " +
      "shift shred sleep stat test touch true truncate tty type typeset umask uname unlink unset wait which whoami",
    nothingShown,
  ),
  ...rows("egrep fgrep grep", grepRow),
  ...rows("ack ag rg rgrep ugrep", searchRow(searchFlags)),
  ...rows(
    "cp install rsync scp",
    copyRow((args) => copyReach(args)),
  ),
  ...rows(
    "mv",
    copyRow(() => "below"),
  ),
  ...rows(
    "link ln",
    copyRow(() => "itself"),
  ),
  ...rows("7z ar bsdtar tar zip", packRow),
  ...rows("cpio ed emacs ex pax vi view vim", scriptRow),
  ...rows("diff diff3 sdiff", (args) => showsNames(args, copyReach(args))),
  ...rows("awk gawk mawk nawk", awkRow),
  ...rows("parallel xargs", feedRow),
  ["find", findRow],
  ["git", (args) => analyzeGitShows(args)],
  ["jq", jqRow],
  ["sed", sedRow],
]);
