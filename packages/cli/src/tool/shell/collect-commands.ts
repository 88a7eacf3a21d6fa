import { shellNestingMax } from "../limits.ts";
import { harmlessAssigns, isHarmlessRedirect } from "./analyze-effect.ts";
import { splitGitArgs, type ShellWord } from "./shell-word.ts";
import { parseLine, type ShellLine, type ShellRedirect, type SimpleCommand } from "./parse-line.ts";
import { isHarmless, isInert } from "./is-harmless.ts";
import { analyzeStarter } from "./start/analyze-starter.ts";
import { isOtherHome } from "./expand.ts";

interface NestedCommands {
  readonly commands: (readonly ShellWord[])[];
  readonly redirects: ShellRedirect[];
  /** Names of the variables that are set. */
  readonly assigns: Set<string>;
  /** Arguments of unknown programs, which may run the commands that these arguments name. */
  readonly unknown: UnknownStart[];
  /** `unclear`: there may be further commands. */
  sight: "clear" | "unclear";
}

export interface UnknownStart {
  readonly words: readonly ShellWord[];
  readonly text: string;
  /** `unclear`: it may name any program. */
  readonly sight?: "clear" | "unclear";
}

/** Every command of a line, including those that a program would run for it, and each program also by its bare name. */
export const collectCommands = (source: string): NestedCommands => collectFrom(source, shellNestingMax);

function collectFrom(source: string, nestingLeft: number): NestedCommands {
  const found: NestedCommands = { commands: [], redirects: [], assigns: new Set(), unknown: [], sight: "clear" };
  const line = parseLine(source);
  if (line.kind === "unclear" || nestingLeft === 0) return { ...found, sight: "unclear" };
  // An expansion without a parsed script is unknown; a subscript is evaluated even inside quotes.
  const isUnparsed = line.beyond.has("CommandExpansion") || line.beyond.has("ProcessSubstitution");
  if (isUnparsed || subscript.test(source) || mayEvaluate(line)) found.sight = "unclear";
  found.redirects.push(...line.redirects);
  for (const variable of line.sets) found.assigns.add(variable);
  for (const command of line.commands) {
    for (const variable of command.assigns) found.assigns.add(variable);
    addTexts(found, command);
    addStarted(found, { words: command.words, texts: command.texts, nestingLeft, seen: new Set() });
  }
  addPassedOn(found, { line, source });
  return found;
}

/** Texts that a program of the line may get through a pipe, a file or its group. */
function addPassedOn(found: NestedCommands, { line, source }: { line: ClearLine; source: string }): void {
  const names = line.commands.flatMap(({ words: [name] }) => (name === undefined ? [] : [bareName(name).value]));
  const unknown = names.filter((name) => !isQuiet(name, []));
  const isPassedOn = source.includes("|") || !line.redirects.every(isHarmlessRedirect);
  const printed = isPassedOn && unknown.some((name) => name !== "git") ? line.commands.flatMap(echoWords) : [];
  const texts = [...line.texts, ...printed];
  if (unknown.length > 0 && texts.length > 0) found.unknown.push({ words: [], text: joinWords(texts) });
  // In a folder of programs, they can be copied by their bare names.
  if (names.some((name) => copiers.has(name)) && line.commands.some(isGoingToPrograms))
    found.unknown.push({ words: [], text: "", sight: "unclear" });
}

const echoWords = ({ words: [name, ...args] }: SimpleCommand): readonly ShellWord[] =>
  name?.value === "echo" || name?.value === "printf" ? args : [];

const isGoingToPrograms = ({ words: [name, ...args] }: SimpleCommand): boolean =>
  (name?.value === "cd" || name?.value === "pushd") &&
  args.some(({ kind, value }) => kind !== "plain" || /(?:^|\/)s?bin\/*$/.test(value));

/** An array index with a command substitution. If the text is evaluated as arithmetic, the command runs even inside quotes. */
const subscript = /\w\[[^\]]*(?:\$\(|`)/;

/** Arithmetic evaluates a variable again, so text that a program wrote into it may run as a command. */
function mayEvaluate({ beyond, commands }: ClearLine): boolean {
  if (![...beyond].some((syntax) => syntax.startsWith("Arithmetic"))) return false;
  return commands.some(
    ({ words: [name], texts }) =>
      readers.has(name?.value ?? "") ||
      texts.some(({ kind, value }) => kind === "dynamic" && /\$\((?!\()|`/.test(value)),
  );
}

type ClearLine = Extract<ShellLine, { kind: "line" }>;

const readers: ReadonlySet<string> = new Set(["mapfile", "read", "readarray"]);

/** A value may be a line that another command runs: at a prompt, as a pager, or when the variable is evaluated. */
function addTexts(found: NestedCommands, { assigns, texts, words }: SimpleCommand): void {
  if (assigns.length === 0) return;
  if (texts.some(({ kind, value }) => kind === "plain" && /\$\(|`/.test(value)) && words.length === 0)
    found.sight = "unclear";
  if (assigns.some((name) => !harmlessAssigns.has(name) && /[A-Z]/.test(name)))
    found.unknown.push({ words: [], text: joinWords(texts) });
}

const joinWords = (words: readonly ShellWord[]): string => words.map(({ value }) => value).join(" ");

interface StartInput {
  readonly words: readonly ShellWord[];
  readonly texts: readonly ShellWord[];
  readonly nestingLeft: number;
  /** Commands of this line already visited: nested words repeat a lot. */
  readonly seen: Set<string>;
}

function addStarted(found: NestedCommands, { words, texts, nestingLeft, seen }: StartInput): void {
  const [name, ...args] = words;
  const key = JSON.stringify(words);
  if (name === undefined || seen.has(key)) return;
  seen.add(key);
  addCommand(found, words);
  const program = bareName(name).value;
  const started = analyzeStarter(program, { args, texts });
  if (name.kind !== "plain" || started?.sight === "unclear" || isEvaluating(program, args)) found.sight = "unclear";
  if (started === undefined) {
    const isSilent = isQuiet(program, args);
    if (isCopying(program, found.redirects) && args.some(mayFindProgram))
      found.unknown.push({ words: [], text: "", sight: "unclear" });
    const relevantArgs = isSilent ? args.filter(({ value }) => programPath.test(value)) : args;
    const text = joinWords(isSilent ? relevantArgs : [...relevantArgs, ...texts]);
    if (text !== "") found.unknown.push({ words: relevantArgs, text });
    return;
  }
  const isStarting = started.commands.length > 0 || started.scripts.length > 0;
  // The started program reads the same input.
  if (isStarting && texts.length > 0) found.unknown.push({ words: [], text: joinWords(texts) });
  for (const command of started.commands) addStarted(found, { words: command, texts, nestingLeft, seen });
  for (const script of started.scripts) {
    if (script.kind !== "plain") found.sight = "unclear";
    else addScript(found, script.value, nestingLeft);
  }
}

function addScript(found: NestedCommands, script: string, nestingLeft: number): void {
  const inner = collectFrom(script, nestingLeft - 1);
  found.commands.push(...inner.commands);
  found.redirects.push(...inner.redirects);
  found.unknown.push(...inner.unknown);
  for (const variable of inner.assigns) found.assigns.add(variable);
  if (inner.sight === "unclear") found.sight = "unclear";
}

/** Adds it as written, by its bare name, and for git without the options before its subcommand. */
function addCommand(found: NestedCommands, [name, ...args]: readonly ShellWord[]): void {
  if (name === undefined) return;
  const bareWord = bareName(name);
  found.commands.push([name, ...args]);
  const names = new Set([bareWord.value, bareWord.value.toLowerCase()]);
  for (const value of names) if (value !== name.value) found.commands.push([{ ...name, value }, ...args]);
  if (bareWord.value === "git") found.commands.push([bareWord, ...splitGitArgs(args).rest]);
  const ownProgram = /^git-(?<subcommand>.+)$/.exec(bareWord.value)?.groups?.["subcommand"];
  if (ownProgram !== undefined)
    found.commands.push([{ kind: "plain", value: "git" }, { kind: "plain", value: ownProgram }, ...args]);
}

export const bareName = (word: ShellWord): ShellWord => ({
  ...word,
  value: word.value.slice(word.value.lastIndexOf("/") + 1),
});

/** Whether it is known to start nothing with these words. */
const isQuiet = (program: string, args: readonly ShellWord[]): boolean =>
  quietPrograms.has(program) ||
  isInert(program) ||
  isHarmless(
    program,
    args.map(({ value }) => value),
  );

/** They change files or the shell, but start nothing. */
const quietPrograms: ReadonlySet<string> = new Set(
  (
    "[ break cd chgrp chmod chown continue cp dd declare exit export getopts hash install kill let link ln local mkdir mkfifo " +
    "mv popd pushd read readonly return rm rmdir set shift shopt shred sleep tee test touch truncate typeset ulimit umask " +
    "unalias unlink unset wait"
  ).split(" "),
);

/** A program under another name is still the same program. */
const programPath = /(?:^|\/)s?bin\/[^/]+$/;

/** Copies of a program have names that no rule knows. */
const isCopying = (program: string, redirects: readonly ShellRedirect[]): boolean =>
  copiers.has(program) || (program === "cat" && !redirects.every(isHarmlessRedirect));

const copiers: ReadonlySet<string> = new Set("cp dd install link ln mv".split(" "));

const mayFindProgram = ({ kind, pieces, value }: ShellWord): boolean =>
  (kind === "dynamic" && pieces === undefined) || (kind !== "plain" && programPath.test(value));

/** Builtins that expand the words of a list again. */
const isEvaluating = (program: string, args: readonly ShellWord[]): boolean =>
  declarers.has(program) && args.some(({ kind, value }) => kind === "plain" && /^\w+\+?=\(.*(?:\$\(|`)/s.test(value));

const declarers: ReadonlySet<string> = new Set("declare export local readonly typeset".split(" "));

/**
 * Where a command may lead: the targets of `cd` and its like, of `git -C` and of `env -C`. A dynamic word means an
 * unknown folder, whether it is a folder (`cd -`, `cd ~user`) or an option (`cd -P`).
 */
export function folderTargets([name, ...args]: readonly ShellWord[]): readonly ShellWord[] {
  if (name?.value === "git") return splitGitArgs(args).folders.map(markUnknown);
  const option = folderOptions.get(name?.value ?? "");
  if (option !== undefined) return args.filter(({ value }) => option.test(value)).map(markUnknown);
  if (!folderChangers.has(name?.value ?? "")) return [];
  const isBare = args.every(({ value }) => value.startsWith("-"));
  return [...(isBare ? [home] : []), ...args.map(markUnknown)];
}

/** `chdir` is the same as `cd` in some shells; a bare `pushd` leads home in some. */
const folderChangers: ReadonlySet<string> = new Set(["cd", "chdir", "pushd"]);

/** Programs that start another one in the folder that an option names. */
const folderOptions: ReadonlyMap<string, RegExp> = new Map([
  ["env", /^-[^-]*C|^--c/],
  ["sudo", /^-[^-]*D|^--chd/],
]);

const home: ShellWord = { kind: "plain", value: "~" };

const markUnknown = (word: ShellWord): ShellWord =>
  word.value.startsWith("-") || isOtherHome(word.value) ? { kind: "dynamic", value: word.value } : word;
