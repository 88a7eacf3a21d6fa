import type { ShellAct } from "palimpsest/internal/ports/tools";
import { isHarmlessRedirect, isHarmlessVariable, isReadOnly } from "../shell/effect.ts";
import { parseLine, type SimpleCommand } from "../shell/line.ts";
import type { ShellWord } from "../shell/word.ts";
import { isWriteKnown } from "../shell/writing.ts";
import type { Rule, ShellPattern } from "./rule.ts";

type ShellRules = readonly Rule[];

/**
 * Whether rules allow the line: every command that stands anywhere in it is named by one of them, or changes nothing and
 * reads only what acts beside it tell. So `Bash(git status:*)` does not allow `git status && rm -rf /`, nor
 * `git status $(rm -rf /)`, nor `git status > ~/.profile`, nor `PATH=. git status`, nor `git status; echo $TOKEN`.
 */
export function allowsLine(rules: ShellRules, { command, reads }: ShellAct): boolean {
  const patterns = patternsOf(rules);
  if (patterns.some((pattern) => pattern.kind === "any")) return true;
  if (patterns.length === 0) return false;
  const line = parseLine(command);
  if (line.kind === "unclear" || line.commands.length === 0) return false;
  if ([...line.beyond].some((syntax) => !passableSyntax.has(syntax))) return false;
  if (!line.redirects.every(isHarmlessRedirect)) return false;
  const unnamed = line.commands.filter((one) => !isNamed(patterns, one));
  if (unnamed.length === 0) return true;
  return reads === "told" && unnamed.every(isReadOnly) && line.variables.every(isHarmlessVariable);
}

/** Who allows `cat` by a rule means the files it is given, too. `index`: undefined for what is redirected. */
export function allowsReadsOf(rules: ShellRules, { command, index }: CommandAt): boolean {
  const patterns = patternsOf(rules);
  if (patterns.some((pattern) => pattern.kind === "any")) return true;
  const line = parseLine(command);
  const one = line.kind === "line" && index !== undefined ? line.commands[index] : undefined;
  return one !== undefined && isNamed(patterns, one);
}

export interface CommandAt {
  /** The whole line. */
  readonly command: string;
  readonly index: number | undefined;
}

/** Control flow runs only commands that stand in the line. Arithmetic, transformations and the like may run others. */
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

const patternsOf = (rules: ShellRules): readonly ShellPattern[] =>
  rules.flatMap((rule) => (rule.kind === "shell" ? [rule.pattern] : []));

const isNamed = (patterns: readonly ShellPattern[], { words, assigns }: SimpleCommand): boolean =>
  assigns.length === 0 && patterns.some((pattern) => isLike(pattern, words));

export function isLike(pattern: ShellPattern, words: readonly ShellWord[]): boolean {
  switch (pattern.kind) {
    case "any":
      return true;
    case "starts":
      return pattern.words.every((word, index) => words[index]?.kind === "plain" && words[index].value === word);
    case "like":
      return words[0]?.kind === "plain" && pattern.form.test(words.map(({ value }) => value).join(" "));
  }
}

/**
 * Whether the line may change files that nobody can tell, by a command that no rule names. A rule for every command
 * names none.
 */
export function changesUnnamed(rules: ShellRules, command: string): boolean {
  const patterns = patternsOf(rules).filter(({ kind }) => kind !== "any");
  const line = parseLine(command);
  if (line.kind === "unclear") return true;
  return line.commands.some((one) => !isNamed(patterns, one) && !isReadOnly(one) && !isWriteKnown(one.words));
}
