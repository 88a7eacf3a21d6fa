import type { ShellWord } from "../shell/word.ts";
import { bareName, commandsWithin, type UnknownStart } from "../shell/within.ts";
import type { Rule, ShellPattern } from "./rule.ts";
import { isLike } from "./shell-rule.ts";

/** Whether a rule forbids some command of the line; `unclear` where there are such rules and the line can't be looked into. */
export function forbidsLine(rules: readonly Rule[], command: string): Rule | "unclear" | undefined {
  const shellRules = rules.filter((rule) => rule.kind === "shell");
  if (shellRules.length === 0) return undefined;
  const whole = shellRules.find((rule) => rule.pattern.kind === "any");
  if (whole !== undefined) return whole;
  const within = commandsWithin(command);
  const rule = shellRules.find(({ pattern }) => within.commands.some((words) => isLike(pattern, words)));
  if (rule !== undefined) return rule;
  const isDoubtful = shellRules.some(
    ({ pattern }) =>
      within.commands.some((words) => mayBecome(pattern, words)) ||
      within.unknown.some((start) => mayStart(pattern, start)),
  );
  return isDoubtful || within.sight === "unclear" ? "unclear" : undefined;
}

/** Whether words that only the shell knows may make it a command that the pattern is for. */
function mayBecome(pattern: ShellPattern, words: readonly ShellWord[]): boolean {
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts": {
      const differing = pattern.words.findIndex((word, index) => !isPlainly(words[index], word));
      return differing !== -1 && words[differing] !== undefined && words[differing].kind !== "plain";
    }
    case "like":
      return (
        words.some(({ kind }) => kind !== "plain") &&
        (pattern.program === undefined || words[0]?.value === pattern.program)
      );
  }
}

/** Whether a program that is not known may be asked in these words to start what the pattern is for. */
function mayStart(pattern: ShellPattern, { words, text, sight }: UnknownStart): boolean {
  if (sight === "unclear") return true;
  if (words.some((word, index) => isLike(pattern, [bareName(word), ...words.slice(index + 1)]))) return true;
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts":
      return mentions(text, pattern.words);
    case "like":
      return pattern.program !== undefined && mentions(text, [pattern.program]);
  }
}

/** Whether the names stand in the text one behind the other, each by itself or behind the letter of an option. */
function mentions(text: string, names: readonly string[]): boolean {
  const forms = names.map(
    (name) => `(?<![\\w-])(?:-\\w)?${name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}(?![\\w-])`,
  );
  return new RegExp(forms.join("[^]*?"), "i").test(text);
}

const isPlainly = (word: ShellWord | undefined, value: string): boolean =>
  word?.kind === "plain" && word.value === value;
