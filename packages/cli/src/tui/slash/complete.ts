import { bestMatches } from "../text/fuzzy.ts";
import { slashCommands, type SlashCompletion, type SlashName } from "./commands.ts";
import { commandOf, namesOf } from "./parse.ts";

/** What may follow what is typed so far, in the first line up to the cursor. */
export type SlashCompletions =
  | { readonly kind: "nothing" }
  | { readonly kind: "names"; readonly names: readonly SlashName[] }
  /** Candidates are the caller's: it knows the sessions and models. */
  | { readonly kind: "rest"; readonly of: SlashCompletion; readonly typed: string };

export function completeSlash(typed: string): SlashCompletions {
  const [, word, behind] = /^\/([^\s/]*)(?:\s+(.*))?$/.exec(typed) ?? [];
  if (word === undefined) return { kind: "nothing" };
  if (behind === undefined && !/\s$/.test(typed)) return { kind: "names", names: namesLike(word.toLowerCase()) };
  const command = commandOf(word);
  if (command === undefined || command.completes === "nothing") return { kind: "nothing" };
  return { kind: "rest", of: command.completes, typed: behind ?? "" };
}

/** The command of that very name, those that begin with it in the order of help, then those that only have its letters. */
function namesLike(typed: string): readonly SlashName[] {
  const here = slashCommands.filter(({ state }) => state === "here");
  const begun = here
    .filter((command) => namesOf(command).some((name) => name.startsWith(typed)))
    .toSorted((one, other) => Number(namesOf(other).includes(typed)) - Number(namesOf(one).includes(typed)));
  const others = here.filter((command) => !begun.includes(command)).map(({ name }) => name);
  return [...begun.map(({ name }) => name), ...bestMatches({ typed, names: others, most: others.length })];
}
