import { type CommandAction, type Command, type CommandGroup, loadCommand } from "./command.ts";
import type { Failure } from "./failure.ts";
import { nearestName } from "palimpsest/internal/text/nearest-name";
import { aliases, unknownWordText, usageFailure } from "./parse-arguments.ts";
import { quoteForShell } from "../text/format.ts";

type FindCommandOutcome =
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

/** Follows the words of a command line down the table, as far as they name commands. */
export async function findCommand(program: CommandGroup, argv: readonly string[]): Promise<FindCommandOutcome> {
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
      if (problem !== undefined) return usageFailure(problem, called);
      flags.push(word);
      continue;
    }
    const { commands }: CommandGroup = command;
    const next = commands.find(({ name }) => name === word);
    const itself = next === undefined ? await actionForMessage(command, word) : undefined;
    if (itself !== undefined) return { kind: "found", command: itself, called, flags: [], rest: argv };
    if (next === undefined) return unknownCommand({ group: command, called, words: argv.slice(at) });
    command = await loadCommand(next);
    called = `${called} ${word}`;
  }
  return { kind: "found", command, called, flags, rest: argv.slice(at) };
}

interface UnmatchedInput {
  readonly group: CommandGroup;
  readonly called: string;
  /** The rest of the line, beginning with the word that names no command. */
  readonly words: readonly string[];
}

/** A word that resembles no command was probably meant for the group's own action. */
function unknownCommand({ group, called, words }: UnmatchedInput): Failure {
  const [word = ""] = words;
  const names = group.commands.map(({ name }) => name);
  const failed = usageFailure(unknownWordText({ what: "command", word, names }), called);
  const hint = Object.hasOwn(group.hintByWord ?? {}, word) ? group.hintByWord?.[word] : undefined;
  if (hint !== undefined) return { ...failed, hint };
  if (group.itself === undefined || nearestName(word, names) !== undefined) return failed;
  const option = words.findIndex((argument) => argument.startsWith("-"));
  const task = option === -1 ? words : words.slice(0, option);
  return {
    ...failed,
    hint: `A task for the agent? Then say it with -p: ${called} -p ${quoteForShell(task.join(" "))}`,
  };
}

/** The group's own action if the word is one of its options: then the whole line is for that. */
async function ownAction({ itself }: CommandGroup, word: string): Promise<CommandAction | undefined> {
  if (itself === undefined || rootFlags.includes(word)) return undefined;
  const action = await loadCommand(itself);
  return action.kind === "action" && hasOption(action, word) ? action : undefined;
}

/** The same if the word is a message rather than a name: names have no spaces. */
async function actionForMessage({ itself }: CommandGroup, word: string): Promise<CommandAction | undefined> {
  if (itself === undefined || !/\s/.test(word.trim())) return undefined;
  const action = await loadCommand(itself);
  return action.kind === "action" ? action : undefined;
}

const hasOption = ({ options }: CommandAction, word: string): boolean =>
  Object.entries(options).some(
    ([name, option]) =>
      [name, ...aliases(option)].some((known) => word === `--${known}` || word.startsWith(`--${known}=`)) ||
      (option.short !== undefined && word === `-${option.short}`),
  );

const groupFlags = ["--help", "-h", "--debug", "--json"];
const rootFlags = [...groupFlags, "--version", "-v"];

const flagProblem = (word: string, flags: readonly string[]): string | undefined =>
  flags.includes(word) ? undefined : unknownWordText({ what: "option", word, names: flags });
