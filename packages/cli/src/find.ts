import { type Action, type Command, type Group, loaded } from "./command.ts";
import type { Failure } from "./failure.ts";
import { nearest } from "palimpsest/internal/schema/nearest";
import { unknown, usage } from "./parse.ts";
import { shellWord } from "./shell-word.ts";

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
export async function find(program: Group, argv: readonly string[]): Promise<Found> {
  let command: Command = program;
  let called = program.name;
  let at = 0;
  const flags: string[] = [];
  for (; at < argv.length && command.kind === "group"; at++) {
    const word = argv[at] ?? "";
    if (word.startsWith("-")) {
      const itself = await ownAction(command, word);
      if (itself !== undefined) return { kind: "found", command: itself, called, flags: [], rest: argv };
      const problem = flagProblem(word, command === program ? rootFlags : groupFlags);
      if (problem !== undefined) return usage(problem, called);
      flags.push(word);
      continue;
    }
    const { commands }: Group = command;
    const next = commands.find(({ name }) => name === word);
    const itself = next === undefined ? await toldAction(command, word) : undefined;
    if (itself !== undefined) return { kind: "found", command: itself, called, flags: [], rest: argv };
    if (next === undefined) return unknownCommand({ group: command, called, words: argv.slice(at) });
    command = await loaded(next);
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
  return { ...failed, hint: `A task for the agent? Then say it with -p: ${called} -p ${shellWord(task.join(" "))}` };
}

/** What the group does by itself, where the word is an option of that: then the whole line is that. */
async function ownAction({ itself }: Group, word: string): Promise<Action | undefined> {
  if (itself === undefined || rootFlags.includes(word)) return undefined;
  const action = await loaded(itself);
  return action.kind === "action" && hasOption(action, word) ? action : undefined;
}

/** The same, where the word is no name of anything but something said: names have no spaces. */
async function toldAction({ itself }: Group, word: string): Promise<Action | undefined> {
  if (itself === undefined || !/\s/.test(word.trim())) return undefined;
  const action = await loaded(itself);
  return action.kind === "action" ? action : undefined;
}

const hasOption = ({ options }: Action, word: string): boolean =>
  Object.entries(options).some(
    ([name, { short }]) =>
      word === `--${name}` || word.startsWith(`--${name}=`) || (short !== undefined && word === `-${short}`),
  );

const groupFlags = ["--help", "-h", "--debug", "--json"];
const rootFlags = [...groupFlags, "--version", "-v"];

const flagProblem = (word: string, flags: readonly string[]): string | undefined =>
  flags.includes(word) ? undefined : unknown({ what: "option", word, names: flags });
