import type { ShellAction } from "palimpsest/internal/ports/tool";
import { isHarmlessRedirect, isHarmlessVariable, isReadOnly } from "../shell/analyze-effect.ts";
import { parseLine, type SimpleCommand } from "../shell/parse-line.ts";
import type { ShellWord } from "../shell/shell-word.ts";
import { isWriteKnown } from "../shell/analyze-writes.ts";
import type { Rule, ShellPattern } from "./rule.ts";
import { bareName, collectCommands, type UnknownStart } from "../shell/collect-commands.ts";

type ShellRules = readonly Rule[];

/**
 * Whether rules allow the line: each command anywhere in it either matches a rule, or changes nothing and reads only
 * files that other acts of the request name. So `Bash(git status:*)` does not allow `git status && rm -rf /`, nor `git
 * status $(rm -rf /)`, nor `git status > ~/.profile`, nor `PATH=. git status`, nor `git status; echo $TOKEN`.
 */
export function allowsLine(rules: ShellRules, { command, reads }: ShellAction): boolean {
  const patterns = shellPatterns(rules);
  if (patterns.some((pattern) => pattern.kind === "any")) return true;
  if (patterns.length === 0) return false;
  const line = parseLine(command);
  if (line.kind === "unclear" || line.commands.length === 0) return false;
  if ([...line.beyond].some((syntax) => !passableSyntax.has(syntax))) return false;
  if (!line.redirects.every(isHarmlessRedirect)) return false;
  const unnamed = line.commands.filter((one) => !isNamedByPattern(patterns, one));
  if (unnamed.length === 0) return true;
  return reads === "known" && unnamed.every(isReadOnly) && line.variables.every(isHarmlessVariable);
}

/** A rule that allows `cat` also allows reading the files it is given. `index`: undefined for a redirect. */
export function allowsReads(rules: ShellRules, { command, index }: CommandPosition): boolean {
  const patterns = shellPatterns(rules);
  if (patterns.some((pattern) => pattern.kind === "any")) return true;
  const line = parseLine(command);
  const one = line.kind === "line" && index !== undefined ? line.commands[index] : undefined;
  return one !== undefined && isNamedByPattern(patterns, one);
}

interface CommandPosition {
  /** The whole line. */
  readonly command: string;
  readonly index: number | undefined;
}

/**
 * Control flow only runs commands that are written in the line. Arithmetic, transformations and the like may run
 * others.
 */
const passableSyntax: ReadonlySet<string> = new Set([
  "Background",
  "BraceExpansion",
  "Case",
  "CaseItem",
  "Elif",
  "For",
  "If",
  "While",
]);

const shellPatterns = (rules: ShellRules): readonly ShellPattern[] =>
  rules.flatMap((rule) => (rule.kind === "shell" ? [rule.pattern] : []));

const isNamedByPattern = (patterns: readonly ShellPattern[], { words, assigns }: SimpleCommand): boolean =>
  assigns.length === 0 && patterns.some((pattern) => matchesPattern(pattern, words));

function matchesPattern(pattern: ShellPattern, words: readonly ShellWord[]): boolean {
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts":
      return pattern.words.every((word, index) => words[index]?.kind === "plain" && words[index].value === word);
    case "like":
      return words[0]?.kind === "plain" && pattern.form.test(words.map(({ value }) => value).join(" "));
  }
}

/** Whether a command that no rule names may change unknown files. A rule for every command does not name any. */
export function mayChangeUnnamed(rules: ShellRules, command: string): boolean {
  const patterns = shellPatterns(rules).filter(({ kind }) => kind !== "any");
  const line = parseLine(command);
  if (line.kind === "unclear") return true;
  return line.commands.some((one) => !isNamedByPattern(patterns, one) && !isReadOnly(one) && !isWriteKnown(one.words));
}

/** The rule that matches a command of the line; `unclear` if there are such rules and the line can't be analysed. */
export function findLineRule(rules: readonly Rule[], command: string): Rule | "unclear" | undefined {
  const shellRules = rules.filter((rule) => rule.kind === "shell");
  if (shellRules.length === 0) return undefined;
  const whole = shellRules.find((rule) => rule.pattern.kind === "any");
  if (whole !== undefined) return whole;
  const within = collectCommands(command);
  const rule = shellRules.find(({ pattern }) => within.commands.some((words) => matchesPattern(pattern, words)));
  if (rule !== undefined) return rule;
  const isDoubtful = shellRules.some(
    ({ pattern }) =>
      within.commands.some((words) => mayBecome(pattern, words)) ||
      within.unknown.some((start) => mayStart(pattern, start)),
  );
  return isDoubtful || within.sight === "unclear" ? "unclear" : undefined;
}

/** Whether the command may match the pattern once the shell has expanded its words. */
function mayBecome(pattern: ShellPattern, words: readonly ShellWord[]): boolean {
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts": {
      const differing = pattern.words.findIndex((word, index) => !isPlainWord(words[index], word));
      return differing !== -1 && words[differing] !== undefined && words[differing].kind !== "plain";
    }
    case "like":
      return (
        words.some(({ kind }) => kind !== "plain") &&
        (pattern.program === undefined || words[0]?.value === pattern.program)
      );
  }
}

/** Whether an unknown program may, given these words, start what the pattern matches. */
function mayStart(pattern: ShellPattern, { words, text, sight }: UnknownStart): boolean {
  if (sight === "unclear") return true;
  if (words.some((word, index) => matchesPattern(pattern, [bareName(word), ...words.slice(index + 1)]))) return true;
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts":
      return mentions(text, pattern.words);
    case "like":
      return pattern.program !== undefined && mentions(text, [pattern.program]);
  }
}

/** Whether the names occur in the text in this order, each as a separate word or right after an option's letter. */
function mentions(text: string, names: readonly string[]): boolean {
  const forms = names.map(
    (name) => `(?<![\\w-])(?:-\\w)?${name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}(?![\\w-])`,
  );
  return new RegExp(forms.join("[^]*?"), "i").test(text);
}

const isPlainWord = (word: ShellWord | undefined, value: string): boolean =>
  word?.kind === "plain" && word.value === value;
