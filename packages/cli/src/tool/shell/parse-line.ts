import { forEachChild, parse, type Redirection, type SyntaxNode } from "unbash";
import { shellCommandCharsMax } from "../limits.ts";
import { hasPlainBraces, type ShellWord, toShellWord, expandBraces, isLiteralWord } from "./shell-word.ts";

/** A program and its arguments, anywhere in the line: in a list, a loop, a substitution, a here-document. */
export interface SimpleCommand {
  readonly words: readonly ShellWord[];
  /** Names of the variables set for it or, if it has no words, in the shell. */
  readonly assigns: readonly string[];
  /** Names of the variables used in its words or in its redirected input. */
  readonly variables: readonly string[];
  /** Texts besides its words: values that it sets, and its literal input. */
  readonly texts: readonly ShellWord[];
}

export interface ShellRedirect {
  readonly operator: string;
  readonly target: ShellWord | undefined;
}

export type ShellLine =
  /** Not valid for the parser, or disguised by invisible characters. */
  | { readonly kind: "unclear"; readonly why: string }
  | {
      readonly kind: "line";
      readonly commands: readonly SimpleCommand[];
      readonly redirects: readonly ShellRedirect[];
      /** Variables used outside commands, as in the list of a loop. */
      readonly variables: readonly string[];
      /** Texts outside commands, such as the literal input of a group. */
      readonly texts: readonly ShellWord[];
      /** Variables that its loops and redirects set. */
      readonly sets: readonly string[];
      /** Kinds of syntax other than commands, lists, pipelines, groups and words. */
      readonly beyond: ReadonlySet<string>;
    };

/** Everything that a line would run, according to a shell parser; nothing is expanded. Cost: linear in the line. */
export function parseLine(source: string): ShellLine {
  if (source.length > shellCommandCharsMax)
    return { kind: "unclear", why: "the command is too long to be looked into" };
  if (hiddenCharacters.test(source))
    return { kind: "unclear", why: "the command holds invisible or look-alike characters" };
  const found: LineParts = {
    commands: [],
    redirects: [],
    variables: [],
    texts: [],
    sets: [],
    beyond: new Set(),
    errors: [],
  };
  visit(parse(source), found);
  const [error] = found.errors;
  if (error !== undefined) return { kind: "unclear", why: `the command can't be parsed: ${error}` };
  return { kind: "line", ...found };
}

/** Control characters, direction marks, joiners and unusual spaces: what the user reads is not what runs. */
const hiddenCharacters = /(?![\t\n ])[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/u;

interface LineParts {
  readonly commands: SimpleCommand[];
  readonly redirects: ShellRedirect[];
  /** Those of the innermost command; outside commands, those of the line. */
  readonly variables: string[];
  readonly texts: ShellWord[];
  readonly sets: string[];
  readonly beyond: Set<string>;
  readonly errors: string[];
}

function visit(node: SyntaxNode, outer: LineParts): void {
  const found = node.type === "Command" ? { ...outer, variables: [], texts: [] } : outer;
  noteNode(node, found);
  forEachChild(node, (child) => {
    // Its braces are already expanded in the command's words.
    const isSpelledOut =
      node.type === "Command" && child.type === "Word" && child !== node.name && hasPlainBraces(child);
    if (!isSpelledOut) visit(child, found);
  });
}

function noteNode(node: SyntaxNode, found: LineParts): void {
  switch (node.type) {
    case "Script":
      for (const error of node.errors ?? []) found.errors.push(error.message);
      return;
    case "Command":
      found.commands.push(toSimpleCommand(node, found));
      return;
    case "Redirect":
    case "HereString":
    case "HereDoc":
      noteRedirect(node, found);
      return;
    case "Assignment":
      found.texts.push(...(node.value.type === "Word" ? [node.value] : node.value.elements).map(toShellWord));
      return;
    case "SimpleExpansion":
      found.variables.push(node.text.slice(1));
      return;
    case "ParameterExpansion":
      found.variables.push(node.parameter);
      if (node.prefix !== undefined || node.index !== undefined || node.operation !== undefined)
        found.beyond.add(node.type);
      return;
    case "CommandExpansion":
    case "ProcessSubstitution":
      // Without a script, its content was not parsed.
      if (node.script === undefined) found.beyond.add(node.type);
      return;
    case "For":
    case "Select":
      found.sets.push(node.name.value);
      found.beyond.add(node.type);
      return;
    case "FileDescriptorVariable":
      found.sets.push(node.name);
      found.beyond.add(node.type);
      return;
    case "TestBinary":
      found.beyond.add(/^-(?:eq|ne|l[te]|g[te])$/.test(node.operator) ? "Arithmetic" : node.type);
      return;
    case "Statement":
      if (node.background === true) found.beyond.add("Background");
      return;
    default:
      if (!plainSyntax.has(node.type)) found.beyond.add(node.type);
  }
}

/** Syntax that means no more than its parts. */
const plainSyntax: ReadonlySet<string> = new Set([
  "AndOr",
  "AnsiCQuoted",
  "BraceGroup",
  "CompoundList",
  "DoubleQuoted",
  "FileDescriptor",
  "Glob",
  "HereDocBody",
  "HereDocDelimiter",
  "Literal",
  "Negation",
  "Pipeline",
  "Redirected",
  "SingleQuoted",
  "Subshell",
  "Time",
  "Word",
]);

function toSimpleCommand(
  node: Extract<SyntaxNode, { type: "Command" }>,
  { variables, texts }: Pick<LineParts, "variables" | "texts">,
): SimpleCommand {
  const args = node.args.flatMap((arg): readonly ShellWord[] =>
    arg.type === "Word" ? expandBraces(arg) : [{ kind: "dynamic", value: arg.text }],
  );
  return {
    words: node.name === undefined ? args : [toShellWord(node.name), ...args],
    // A subscript is evaluated, so such a name never counts as harmless.
    assigns: node.prefix.flatMap((part) =>
      part.type === "Assignment" ? [part.index === undefined ? part.name : `${part.name}[]`] : [],
    ),
    variables,
    texts,
  };
}

function noteRedirect(node: Redirection, found: LineParts): void {
  const target = node.type === "HereDoc" || node.target === undefined ? undefined : toShellWord(node.target);
  if (node.type === "HereDoc")
    found.texts.push({ kind: node.body.parts === undefined ? "plain" : "dynamic", value: node.body.text });
  if (node.type === "HereString" && target !== undefined) found.texts.push(target);
  found.redirects.push({ operator: node.operator, target });
}

/**
 * Whether every word of a line is literal: the shell expands nothing, sets nothing and runs only the commands that are
 * written there. Without a sandbox only such lines run without asking. Pure.
 */
export function isLiteralLine(source: string): boolean {
  return source.length <= shellCommandCharsMax && isLiteral(parse(source));
}

function isLiteral(node: SyntaxNode): boolean {
  if (!literalSyntax.has(node.type)) return false;
  if (node.type === "Script" && (node.errors ?? []).length > 0) return false;
  if (node.type === "Statement" && node.background === true) return false;
  if (node.type === "Word" && !isLiteralWord(node)) return false;
  let isWhole = true;
  forEachChild(node, (child) => {
    isWhole &&= isLiteral(child);
  });
  return isWhole;
}

/** Commands, lists and pipelines of words; redirects to files. */
const literalSyntax: ReadonlySet<string> = new Set(
  (
    "AndOr BraceGroup Command CompoundList DoubleQuoted FileDescriptor Literal Negation Pipeline Redirect Redirected " +
    "Script SingleQuoted Statement Subshell Time Word"
  ).split(" "),
);
