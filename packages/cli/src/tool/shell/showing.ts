import type { ShellRedirect } from "./line.ts";
import { placeValues } from "./places.ts";
import { isHarmless } from "./programs.ts";
import { names, nothing, perhaps, type Shown, type ShownWord } from "./shown.ts";
import { showingOfGit } from "./showing-git.ts";
import { gitParts } from "./git-parts.ts";
import { bareName, commandsWithin } from "./within.ts";
import type { ShellWord } from "./word.ts";

/**
 * Which contents of files a line may show, whatever its programs are. Nothing is expanded. Of a program that is not known,
 * as `make`, only its words are looked at: what it reads by itself only a sandbox can hold.
 */
export interface Showing extends Shown {
  /** Where its `cd`s lead, in order. */
  readonly folders: readonly ShellWord[];
  /** What it may make of `~`, `$HOME` and `$PWD`. */
  readonly values: readonly string[];
}

export function showingOf(source: string): Showing {
  const within = commandsWithin(source);
  const values = placeValues(source, within.commands);
  const folders = within.commands.flatMap(foldersOf);
  const shown = [...within.commands.map(shownBy), ...within.redirects.map(inputOf)];
  // Values of variables that programs look at, and what they are fed with.
  const texts = within.unknown.flatMap(({ words, text }) => (words.length === 0 && text !== "" ? [text] : []));
  const named = [
    ...shown.flatMap((one) => one.named),
    ...texts.map((value): ShownWord => ({ word: { kind: "plain", value }, reach: "itself", as: "text" })),
  ];
  const isUnclear =
    within.sight === "unclear" ||
    folders.some(({ kind, value }) => kind === "dynamic" || value.startsWith("-")) ||
    gitVariable.test(source) ||
    // What a pattern finds may not be there yet.
    (within.commands.some(isRestoring) && named.some(({ word }) => word.kind !== "plain"));
  return {
    named,
    folders,
    values,
    others: isUnclear || shown.some(({ others }) => others === "perhaps") ? "perhaps" : "none",
  };
}

function foldersOf([name, ...args]: readonly ShellWord[]): readonly ShellWord[] {
  if (name?.value === "git") return gitParts(args).folders;
  return name?.value === "cd" || name?.value === "pushd" ? args : [];
}

/** By others than these it is led to another repository, puts files elsewhere or starts programs. */
const gitVariable =
  /\bGIT_(?!(?:AUTHOR|COMMITTER)_|OPTIONAL_LOCKS\b|TERMINAL_PROMPT\b|PAGER=cat\b|EDITOR=(?:true|:)(?:\s|$))[A-Z_]+/;

/** Whether it brings back files of other times. */
const isRestoring = ([name, ...args]: readonly ShellWord[]): boolean =>
  name?.value === "git" && restoring.has(gitParts(args).rest[0]?.value ?? "");

const restoring: ReadonlySet<string> = new Set(
  "am apply bisect checkout checkout-index cherry-pick clone merge pull read-tree rebase reset restore revert stash submodule switch worktree".split(
    " ",
  ),
);

function inputOf({ operator, target }: ShellRedirect): Shown {
  return target !== undefined && (operator === "<" || operator === "<>") ? names([target], "itself") : nothing;
}

type Row = (args: readonly ShellWord[]) => Shown;

function shownBy([name, ...args]: readonly ShellWord[]): Shown {
  if (name === undefined) return nothing;
  const program = bareName(name).value.toLowerCase();
  return (rowByProgram.get(program) ?? (interpreter.test(program) ? interpreted : anyWord))(args);
}

const nothingShown: Row = () => nothing;

/** Of a program that is not known, every word may name what it reads. */
const anyWord: Row = (args) => {
  const { named, others } = names(args, "itself");
  return { named: named.map((one): ShownWord => ({ ...one, as: "text" })), others };
};

const operandsOf = (args: readonly ShellWord[]): readonly ShellWord[] =>
  args.filter(({ value }) => !value.startsWith("-"));

const hasOption = (args: readonly ShellWord[], form: RegExp): boolean => args.some(({ value }) => form.test(value));

const here: ShellWord = { kind: "plain", value: "." };

/** Searches whose options are all in `plainOptions`: a pattern, then folders. Of others only the person can tell. */
const search =
  (plainOptions: RegExp): Row =>
  (args) => {
    const options = args.filter(({ value }) => value.startsWith("-"));
    const [, ...places] = operandsOf(args);
    if (options.every(({ value }) => plainOptions.test(value)) && args.every(({ kind }) => kind === "plain"))
      return names(places.length === 0 ? [here] : places, "below");
    return perhaps(
      names(
        args.filter(({ value }) => !/^--(?:exclude|glob|iglob|ignore)/.test(value)),
        "itself",
      ),
    );
  };

const searchFlags = /^-(?:[ABCm]\d+|[achHiIlLnoqsUvwxEFGPS]+)$|^--(?:hidden|no-ignore|line-number|ignore-case)$/;
const grepFlags = /^-(?:[ABCm]\d+|[acEFGhHiIlLnoPqrsUvwxz]+)$|^--(?:recursive|line-number|ignore-case)$/;

const grep: Row = (args) =>
  hasOption(args, /^-[^-]*[rRd]|^--(?:r|de|di)/) ? search(grepFlags)(args) : names(args, "itself");

/** What is copied can be read elsewhere; the last operand is where to. */
const copied =
  (reach: (args: readonly ShellWord[]) => ShownWord["reach"]): Row =>
  (args) => {
    const operands = operandsOf(args);
    const isTargetFirst = hasOption(args, /^-[^-]*t|^--t/);
    return names(isTargetFirst || operands.length < 2 ? args : operands.slice(0, -1), reach(args));
  };

/** Names from a list or from the input, or in another folder than the one where the line stands. */
const packed: Row = (args) => {
  const shown = names(args, "below");
  return hasOption(args, /^-[^-]*[TCX@]|^--|^[a-zA-Z]*[TCX][a-zA-Z]*$/) ? perhaps(shown) : shown;
};

const find: Row = (args) => {
  const at = args.findIndex(({ value }) => /^-(?:exec|ok)/.test(value));
  const isDynamic = args.some(({ kind }) => kind === "dynamic");
  if (at === -1) return isDynamic ? perhaps(nothing) : nothing;
  const program = args[at + 1];
  return isQuiet(program) && !hasOption(args.slice(at + 1), /^-(?:exec|ok)/) ? nothing : perhaps(names(args, "itself"));
};

/** `rm`, `echo`: what they are given they don't show. */
const isQuiet = (program: ShellWord | undefined): boolean =>
  program?.kind === "plain" && rowByProgram.get(bareName(program).value) === nothingShown;

/** Whose options are not all known may take the program for the value of one. */
const fed: Row = (args) => {
  let at = 0;
  while (/^(?:-[0rt]+|-[nPLs]\d+|--null|--no-run-if-empty)$/.test(args[at]?.value ?? "")) at += 1;
  if (/^-[nPLIds]$/.test(args[at]?.value ?? "")) at += 2;
  return isQuiet(args[at]) ? nothing : perhaps(names(args, "itself"));
};

const interpreter = /^(?:node|nodejs|deno|bun|python[\d.]*|pypy\d*|perl|ruby|php|lua[\d.]*|rscript|tclsh)$/;

/** A program in a word or from the input may read what it likes. One in a file is the project's, as what `make` runs. */
const interpreted: Row = (args) => {
  const isInline = hasOption(args, /^-(?!-)(?!m$|v$|V$)[a-zA-Z]*[cepErnB]|^--(?:eval|print|run)|^eval$|^-$/);
  const hasFile = operandsOf(args).length > 0 || hasOption(args, /^--(?:test|version|check)|^-[mvV]$/);
  return isInline || !hasFile ? perhaps(anyWord(args)) : anyWord(args);
};

const awk: Row = (args) =>
  hasOption(args, /getline|system|ARG|\||@|^-[fEil]|^--(?!version)/) ? perhaps(anyWord(args)) : anyWord(args);

const sed: Row = (args) => {
  const scripted = args.map(({ value }) => value).filter((value) => !/^-[nErsuz]*i|^--in/.test(value));
  return isHarmless("sed", scripted) ? names(args, "itself") : perhaps(anyWord(args));
};

/** They read what their input or a script of theirs names. */
const scripted: Row = (args) => perhaps(anyWord(args));

const jq: Row = (args) =>
  isHarmless(
    "jq",
    args.map(({ value }) => value),
  )
    ? names(args, "itself")
    : scripted(args);

const rows = (programs: string, row: Row): readonly (readonly [string, Row])[] =>
  programs.split(" ").map((program) => [program, row] as const);

const recursive = (args: readonly ShellWord[]): ShownWord["reach"] =>
  hasOption(args, /^-[^-]*[rRa]|^--(?:r|a)/) ? "below" : "itself";

const rowByProgram: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...rows(
    ": [ arch basename break cd chgrp chmod chown continue declare df dirname echo exit export false groups hostname id " +
      "kill local ls mkdir mkfifo nproc popd printf ps pushd pwd read readlink readonly realpath return rm rmdir seq set " +
      "shift shred sleep stat test touch true truncate tty type typeset umask uname unlink unset wait which whoami",
    nothingShown,
  ),
  ...rows("egrep fgrep grep", grep),
  ...rows("ack ag rg rgrep ugrep", search(searchFlags)),
  ...rows(
    "cp install rsync scp",
    copied((args) => recursive(args)),
  ),
  ...rows(
    "mv",
    copied(() => "below"),
  ),
  ...rows(
    "link ln",
    copied(() => "itself"),
  ),
  ...rows("7z ar bsdtar tar zip", packed),
  ...rows("cpio ed emacs ex pax vi view vim", scripted),
  ...rows("diff diff3 sdiff", (args) => names(args, recursive(args))),
  ...rows("awk gawk mawk nawk", awk),
  ...rows("parallel xargs", fed),
  ["find", find],
  ["git", (args) => showingOfGit(args)],
  ["jq", jq],
  ["sed", sed],
]);
