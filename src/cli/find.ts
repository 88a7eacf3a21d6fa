import type { Action, Command, Group } from "./command.ts";
import type { Failure } from "./failure.ts";
import { nearest } from "./nearest.ts";
import { unknown, usage } from "./parse.ts";

export type Found =
  | {
      readonly kind: "found";
      readonly command: Command;
      /** How it was called: `palimpsest sessions list`. */
      readonly called: string;
      /** Options written before or between the names of commands. */
      readonly flags: readonly string[];
      readonly rest: readonly string[];
    }
  | Failure;

/** Follows the words of a command line down the table, as far as they are names of commands. */
export function find(program: Group, argv: readonly string[]): Found {
  let command: Command = program;
  let called = program.name;
  let at = 0;
  const flags: string[] = [];
  for (; at < argv.length && command.kind === "group"; at++) {
    const word = argv[at] ?? "";
    if (word.startsWith("-")) {
      if (isOwn(command, word)) return { kind: "found", command: command.itself, called, flags: [], rest: argv };
      const problem = flagProblem(word, command === program ? rootFlags : groupFlags);
      if (problem !== undefined) return usage(problem, called);
      flags.push(word);
      continue;
    }
    const { commands }: Group = command;
    const next: Command | undefined = commands.find(({ name }) => name === word);
    if (next === undefined) return unknownCommand({ group: command, called, words: argv.slice(at) });
    command = next;
    called = `${called} ${word}`;
  }
  return { kind: "found", command, called, flags, rest: argv.slice(at) };
}

interface Unmatched {
  readonly group: Group;
  readonly called: string;
  /** What is left of the line, beginning with the word that names no command. */
  readonly words: readonly string[];
}

/** A word that is near to no command was probably meant for what the group does by itself. */
function unknownCommand({ group, called, words }: Unmatched): Failure {
  const [word = ""] = words;
  const names = group.commands.map(({ name }) => name);
  const failed = usage(unknown({ what: "command", word, names }), called);
  if (group.itself === undefined || nearest(word, names) !== undefined) return failed;
  const option = words.findIndex((one) => one.startsWith("-"));
  const task = option === -1 ? words : words.slice(0, option);
  return { ...failed, hint: `A task for the agent? Then say it with -p: ${called} -p ${quoted(task.join(" "))}` };
}

/** As it has to be typed: in single quotes a shell takes everything as it stands. */
const quoted = (word: string): string =>
  /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** An option of what the group does by itself: then the whole line is that. */
const isOwn = (command: Group, word: string): command is Group & { readonly itself: Action } =>
  command.itself !== undefined &&
  Object.entries(command.itself.options).some(
    ([name, { short }]) =>
      word === `--${name}` || word.startsWith(`--${name}=`) || (short !== undefined && word === `-${short}`),
  );

const groupFlags = ["--help", "-h", "--debug", "--json"];
const rootFlags = [...groupFlags, "--version", "-v"];

const flagProblem = (word: string, flags: readonly string[]): string | undefined =>
  flags.includes(word) ? undefined : unknown({ what: "option", word, names: flags });
