import { nearestName } from "palimpsest/internal/text/nearest-name";
import { slashCommands, type SlashName, slashUsage, type SlashCompletion } from "./slash-commands.ts";
import { bestMatches } from "../text/fuzzy-score.ts";

/** A message of the user, parsed as a command. */
export type SlashOutcome =
  /** Not a command: it goes to the model. */
  | { readonly kind: "message" }
  | { readonly kind: "command"; readonly name: SlashName; readonly rest: string; readonly flags: readonly string[] }
  /** A line for the user; nothing is sent to the model. */
  | { readonly kind: "invalid"; readonly message: string };

type KnownCommand = (typeof slashCommands)[number];

/**
 * A command begins with a slash and a word. A word with another slash is a path, and a space before the slash makes anything
 * a message. An unknown command is reported to the user and never sent.
 */
export function parseSlash(text: string): SlashOutcome {
  const remembered = parseMemoryLine(text);
  if (remembered !== undefined) return { kind: "command", name: "remember", rest: remembered, flags: [] };
  const [, word, args = ""] = /^\/([^\s/]*)(?:\s+([\s\S]*))?$/.exec(text.trimEnd()) ?? [];
  if (word === undefined) return { kind: "message" };
  const command = findSlashCommand(word);
  if (command === undefined) return tellUser(unknownCommandText(word));
  return parseCommand(command, args.trim());
}

/**
 * The words behind a `#` that begins a single line. Several lines that begin so are a document with a heading, and `#12`
 * is the number of an issue: both are messages, and so is a `#` with a space before it.
 */
function parseMemoryLine(text: string): string | undefined {
  const [, said] = /^#[ \t]*(\p{L}[^\n]*)$/u.exec(text.trimEnd()) ?? [];
  return said;
}

/** By name or alias, ignoring case. */
export function findSlashCommand(word: string): KnownCommand | undefined {
  const name = word.toLowerCase();
  return slashCommands.find((command) => slashCommandNames(command).includes(name));
}

export const slashCommandNames = ({ name, aliases }: KnownCommand): readonly string[] => [name, ...aliases];

const tellUser = (message: string): SlashOutcome => ({ kind: "invalid", message });

function unknownCommandText(word: string): string {
  if (word === "") return "A command follows the slash: /help lists them.";
  const near = nearestName(word.toLowerCase(), slashCommands.flatMap(slashCommandNames));
  const hint = near === undefined ? "/help lists them" : `did you mean /${near}?`;
  return `There is no command /${word}; ${hint}${near === undefined ? "." : ""} A space before the slash sends it as a message.`;
}

function parseCommand(command: KnownCommand, args: string): SlashOutcome {
  const { rest, flags } = splitFlags(args, command.flags);
  const unknownFlag = /^--\S+/.exec(rest)?.[0];
  const usage = `It is used as ${slashUsage(command)}`;
  if (unknownFlag !== undefined && command.flags.length > 0)
    return tellUser(`/${command.name} knows no ${unknownFlag}. ${usage}`);
  if (command.takes === "nothing" && rest !== "")
    return tellUser(`/${command.name} takes nothing of the kind. ${usage}`);
  if (command.takes === "needs" && rest === "") return tellUser(`/${command.name} needs more. ${usage}`);
  return { kind: "command", name: command.name, rest, flags };
}

/** Flags are recognised at both ends only: inside a text for the model, such a word belongs to the text. */
function splitFlags(
  args: string,
  known: readonly string[],
): { readonly rest: string; readonly flags: readonly string[] } {
  const words = args.split(/(\s+)/);
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

/** Completions of the first line up to the cursor. */
type SlashCandidates =
  | { readonly kind: "nothing" }
  | { readonly kind: "names"; readonly names: readonly SlashName[] }
  /** The caller supplies the candidates: it knows the sessions and models. */
  | { readonly kind: "rest"; readonly of: SlashCompletion; readonly typed: string };

export function completeSlash(typed: string): SlashCandidates {
  const [, word, args] = /^\/([^\s/]*)(?:\s+(.*))?$/.exec(typed) ?? [];
  if (word === undefined) return { kind: "nothing" };
  if (args === undefined && !/\s$/.test(typed)) return { kind: "names", names: matchingNames(word.toLowerCase()) };
  const command = findSlashCommand(word);
  if (command === undefined || command.completes === "nothing") return { kind: "nothing" };
  return { kind: "rest", of: command.completes, typed: args ?? "" };
}

/** An exact match first, then names with this prefix in the order of help, then fuzzy matches. */
function matchingNames(typed: string): readonly SlashName[] {
  const withPrefix = slashCommands
    .filter((command) => slashCommandNames(command).some((name) => name.startsWith(typed)))
    .toSorted(
      (one, other) => Number(slashCommandNames(other).includes(typed)) - Number(slashCommandNames(one).includes(typed)),
    );
  const others = slashCommands.filter((command) => !withPrefix.includes(command)).map(({ name }) => name);
  return [...withPrefix.map(({ name }) => name), ...bestMatches({ typed, names: others, most: others.length })];
}
