import { nearest } from "palimpsest/internal/schema/nearest";
import { slashCommands, type SlashName, usageOf } from "./commands.ts";

/** What a person sent, read as a command. */
export type Slashed =
  /** No command: for the model. */
  | { readonly kind: "message" }
  | { readonly kind: "command"; readonly name: SlashName; readonly rest: string; readonly flags: readonly string[] }
  /** For the person, in a line; the model hears nothing of it. */
  | { readonly kind: "told"; readonly message: string };

type Known = (typeof slashCommands)[number];

/**
 * A slash and one word begin a command. A word with another slash in it is a path, and a space before the slash makes a
 * message of anything. What looks like a command and is none is told, never sent.
 */
export function parseSlash(text: string): Slashed {
  const [, word, behind = ""] = /^\/([^\s/]*)(?:\s+([\s\S]*))?$/.exec(text.trimEnd()) ?? [];
  if (word === undefined) return { kind: "message" };
  const command = commandOf(word);
  if (command === undefined) return told(unknownText(word));
  if (command.state === "later") return told(`/${command.name} is not here yet.`);
  return parsed(command, behind.trim());
}

/** By its name or another one it has; letters of either case. */
export function commandOf(word: string): Known | undefined {
  const name = word.toLowerCase();
  return slashCommands.find((one) => namesOf(one).includes(name));
}

export const namesOf = ({ name, aliases }: Known): readonly string[] => [name, ...aliases];

const told = (message: string): Slashed => ({ kind: "told", message });

function unknownText(word: string): string {
  if (word === "") return "A command follows the slash: /help lists them.";
  const names = slashCommands.filter(({ state }) => state === "here").flatMap(namesOf);
  const near = nearest(word.toLowerCase(), names);
  const hint = near === undefined ? "/help lists them" : `did you mean /${near}?`;
  return `There is no command /${word}; ${hint}${near === undefined ? "." : ""} A space before the slash sends it as a message.`;
}

function parsed(command: Known, behind: string): Slashed {
  const { rest, flags } = withoutFlags(behind, command.flags);
  const wrong = /^--\S+/.exec(rest)?.[0];
  const usage = `It is used as ${usageOf(command)}`;
  if (wrong !== undefined && command.flags.length > 0) return told(`/${command.name} knows no ${wrong}. ${usage}`);
  if (command.takes === "nothing" && rest !== "") return told(`/${command.name} takes nothing of the kind. ${usage}`);
  if (command.takes === "needs" && rest === "") return told(`/${command.name} needs more. ${usage}`);
  return { kind: "command", name: command.name, rest, flags };
}

interface Parted {
  readonly rest: string;
  readonly flags: readonly string[];
}

/** Flags count at both ends: within a text for the model such a word is the text's own. */
function withoutFlags(behind: string, known: readonly string[]): Parted {
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
