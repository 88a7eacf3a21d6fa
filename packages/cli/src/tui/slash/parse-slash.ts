import { nearestName } from "palimpsest/internal/schema/nearest-name";
import { slashCommands, type SlashName, slashUsage, type SlashCompletion } from "./slash-commands.ts";
import { bestMatches } from "../text/fuzzy-score.ts";

/** What a person sent, read as a command. */
export type SlashOutcome =
  /** No command: for the model. */
  | { readonly kind: "message" }
  | { readonly kind: "command"; readonly name: SlashName; readonly rest: string; readonly flags: readonly string[] }
  /** For the person, in a line; the model hears nothing of it. */
  | { readonly kind: "told"; readonly message: string };

type KnownCommand = (typeof slashCommands)[number];

/**
 * A slash and one word begin a command. A word with another slash in it is a path, and a space before the slash makes a
 * message of anything. What looks like a command and is none is told, never sent.
 */
export function parseSlash(text: string): SlashOutcome {
  const [, word, behind = ""] = /^\/([^\s/]*)(?:\s+([\s\S]*))?$/.exec(text.trimEnd()) ?? [];
  if (word === undefined) return { kind: "message" };
  const command = findSlashCommand(word);
  if (command === undefined) return tellUser(unknownCommandText(word));
  if (command.state === "later") return tellUser(`/${command.name} is not here yet.`);
  return parseCommand(command, behind.trim());
}

/** By its name or another one it has; letters of either case. */
export function findSlashCommand(word: string): KnownCommand | undefined {
  const name = word.toLowerCase();
  return slashCommands.find((one) => slashCommandNames(one).includes(name));
}

export const slashCommandNames = ({ name, aliases }: KnownCommand): readonly string[] => [name, ...aliases];

const tellUser = (message: string): SlashOutcome => ({ kind: "told", message });

function unknownCommandText(word: string): string {
  if (word === "") return "A command follows the slash: /help lists them.";
  const names = slashCommands.filter(({ state }) => state === "here").flatMap(slashCommandNames);
  const near = nearestName(word.toLowerCase(), names);
  const hint = near === undefined ? "/help lists them" : `did you mean /${near}?`;
  return `There is no command /${word}; ${hint}${near === undefined ? "." : ""} A space before the slash sends it as a message.`;
}

function parseCommand(command: KnownCommand, behind: string): SlashOutcome {
  const { rest, flags } = splitFlags(behind, command.flags);
  const wrong = /^--\S+/.exec(rest)?.[0];
  const usage = `It is used as ${slashUsage(command)}`;
  if (wrong !== undefined && command.flags.length > 0) return tellUser(`/${command.name} knows no ${wrong}. ${usage}`);
  if (command.takes === "nothing" && rest !== "")
    return tellUser(`/${command.name} takes nothing of the kind. ${usage}`);
  if (command.takes === "needs" && rest === "") return tellUser(`/${command.name} needs more. ${usage}`);
  return { kind: "command", name: command.name, rest, flags };
}

interface FlagSplit {
  readonly rest: string;
  readonly flags: readonly string[];
}

/** Flags count at both ends: within a text for the model such a word is the text's own. */
function splitFlags(behind: string, known: readonly string[]): FlagSplit {
  const words = behind.split(/(\s+)/);
  const flags: string[] = [];
  const isFlag = (word: string | undefined): word is string => word !== undefined && known.includes(word);
  for (let [first] = words; isFlag(first); [first] = words) {
    flags.push(first);
    words.splice(0, 2);
  }
  for (let last = words.at(-1); isFlag(last); last = words.at(-1)) {
    flags.push(last);
    words.splice(-2, 2);
  }
  return { rest: words.join("").trim(), flags: [...new Set(flags)] };
}

/** What may follow what is typed so far, in the first line up to the cursor. */
type SlashCandidates =
  | { readonly kind: "nothing" }
  | { readonly kind: "names"; readonly names: readonly SlashName[] }
  /** Candidates are the caller's: it knows the sessions and models. */
  | { readonly kind: "rest"; readonly of: SlashCompletion; readonly typed: string };

export function completeSlash(typed: string): SlashCandidates {
  const [, word, behind] = /^\/([^\s/]*)(?:\s+(.*))?$/.exec(typed) ?? [];
  if (word === undefined) return { kind: "nothing" };
  if (behind === undefined && !/\s$/.test(typed)) return { kind: "names", names: matchingNames(word.toLowerCase()) };
  const command = findSlashCommand(word);
  if (command === undefined || command.completes === "nothing") return { kind: "nothing" };
  return { kind: "rest", of: command.completes, typed: behind ?? "" };
}

/** The command of that very name, those that begin with it in the order of help, then those that only have its letters. */
function matchingNames(typed: string): readonly SlashName[] {
  const here = slashCommands.filter(({ state }) => state === "here");
  const begun = here
    .filter((command) => slashCommandNames(command).some((name) => name.startsWith(typed)))
    .toSorted(
      (one, other) => Number(slashCommandNames(other).includes(typed)) - Number(slashCommandNames(one).includes(typed)),
    );
  const others = here.filter((command) => !begun.includes(command)).map(({ name }) => name);
  return [...begun.map(({ name }) => name), ...bestMatches({ typed, names: others, most: others.length })];
}
