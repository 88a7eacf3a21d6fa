import { parse, type Word } from "unbash";
import { shellBraceWordsMax } from "../limits.ts";

/**
 * A word of a command after quotes are removed. `glob`: a file name pattern. `dynamic`: only the shell knows its
 * expansion.
 */
export interface ShellWord {
  readonly kind: "plain" | "glob" | "dynamic";
  readonly value: string;
  /** Set for a glob, and for a dynamic word whose only unknowns are the current folder and home. */
  readonly pieces?: readonly WordPiece[];
}

export type WordPiece =
  | { readonly kind: "plain"; readonly text: string }
  | { readonly kind: "glob"; readonly text: string; readonly matches: "any" | "one" }
  | { readonly kind: "variable"; readonly name: "HOME" | "PWD" };

/** The word without its first characters; dynamic if these characters are not plain. */
export function sliceWord(word: ShellWord, chars: number): ShellWord {
  const value = word.value.slice(chars);
  if (word.pieces === undefined) return { kind: word.kind, value };
  const [first, ...rest] = word.pieces;
  if (first?.kind !== "plain" || first.text.length < chars) return { kind: "dynamic", value };
  return { kind: word.kind, value, pieces: [{ ...first, text: first.text.slice(chars) }, ...rest] };
}

/** One word as written; a word with braces is dynamic. */
export function toShellWord(word: Word): ShellWord {
  const kinds = new Set([...(word.parts ?? []).map((part) => part.type), ...innerKinds(word)]);
  const { value } = word;
  if (isOddlyWritten(word)) return { kind: "dynamic", value };
  for (const kind of kinds) if (!staticKinds.has(kind)) return dynamicWord(word);
  if (!kinds.has("Glob")) return { kind: "plain", value };
  const pieces = toPieces(word);
  return pieces === undefined ? { kind: "dynamic", value } : { kind: "glob", value, pieces };
}

/** Whether the shell only removes its quotes. */
export const isLiteralWord = (word: Word): boolean =>
  toShellWord(word).kind === "plain" && !bareText(word).startsWith("~");

/** The expansion of a word with braces, in order; any other word is returned as it is. */
export function expandBraces(word: Word): readonly ShellWord[] {
  const texts = braceTexts(word);
  if (texts === undefined) return [toShellWord(word)];
  return texts.filter((text) => text !== "").flatMap((text) => parseWord(text) ?? []);
}

/** Whether `expandBraces` can expand its braces. */
export const hasPlainBraces = (word: Word): boolean => braceTexts(word) !== undefined;

/** The shell expands braces before anything else, as text. Undefined if there are none, or if they are not simple. */
function braceTexts({ text, parts = [] }: Word): readonly string[] | undefined {
  if (!parts.some(({ type }) => type === "BraceExpansion") || !simpleBraces.test(text)) return undefined;
  let texts = [""];
  for (const [part] of text.matchAll(/\{[^{}]*\}|[^{}]+/g)) {
    const choices = part.startsWith("{") ? part.slice(1, -1).split(",") : [part];
    texts = texts.flatMap((start) => choices.map((choice) => start + choice));
    if (texts.length > shellBraceWordsMax) return undefined;
  }
  return texts;
}

/** Lists without nested lists, of characters without a special meaning except patterns. */
const simpleBraces = /^[\w./*?@%+-]*(?:\{[\w./*?@%+-]*(?:,[\w./*?@%+-]*)+\}[\w./*?@%+-]*)+$/;

function parseWord(text: string): ShellWord | undefined {
  const [statement] = parse(`: ${text}`).commands;
  const arg = statement?.command.type === "Command" ? statement.command.args[0] : undefined;
  return arg?.type === "Word" ? toShellWord(arg) : undefined;
}

/** Whether the shell may interpret it differently from the parser. */
const isOddlyWritten = (word: Word): boolean => {
  const unquoted = bareText(word);
  return innerTilde.test(unquoted) || looseGlob.test(unquoted) || looseBrace.test(unquoted) || hasRawBytes(word);
};

/** In a word that looks like an assignment, and after a colon in it, the shell expands a tilde too. */
const innerTilde = /[=:]~/;
/** Not a pattern to the parser, but to some shells. */
const looseGlob = /[*?]|\[.*\]/s;

/**
 * A list or a sequence that the parser took for text. `HEAD@{1}` is neither, but bash takes `{1},b}` for a list of `1}`
 * and `b`: a brace that closes too early closes nothing.
 */
const looseBrace = /\{.*(?:,|\.\.).*\}/s;

/** The text outside quotes without escaped characters; each quoted text, pattern and expansion becomes one NUL. */
function bareText({ text, parts }: Word): string {
  if (parts === undefined) return maskEscapes(text);
  return parts.map((part) => (part.type === "Literal" ? maskEscapes(part.text) : "\0")).join("");
}

const maskEscapes = (text: string): string => text.replaceAll(/\\[^]/g, "\0");

/** `$'\\xc3'` is a byte, not a character, and a NUL ends the text: only unambiguous escapes are accepted. */
const hasRawBytes = ({ parts = [] }: Word): boolean =>
  parts.some((part) => part.type === "AnsiCQuoted" && !plainEscapes.test(part.text));

const plainEscapes = /^\$'(?:[^\\]|\\[abfnrtv\\'"]|\\x[2-7][0-9a-fA-F](?![0-9a-fA-F]))*'$/;

function dynamicWord(word: Word): ShellWord {
  const pieces = toPieces(word);
  return { kind: "dynamic", value: word.value, ...(pieces === undefined ? {} : { pieces }) };
}

/** Undefined if the expansion of a part is unknown. */
function toPieces({ parts = [] }: Word): readonly WordPiece[] | undefined {
  const inner = parts.flatMap((part): readonly Part[] => (part.type === "DoubleQuoted" ? part.parts : [part]));
  const pieces = inner.map(toPiece);
  const known = pieces.filter((piece) => piece !== undefined);
  return known.length === pieces.length ? known : undefined;
}

function toPiece(part: Part): WordPiece | undefined {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return { kind: "plain", text: part.value };
    case "Glob":
      // A slash ends the name in spite of brackets, and an expansion may close them.
      if (part.kind === "bracket" && (part.value.includes("/") || !part.parts.every(isStaticPart))) return undefined;
      return { kind: "glob", text: part.value, matches: part.kind === "star" ? "any" : "one" };
    case "SimpleExpansion":
      return placePiece(part.text.slice(1));
    case "ParameterExpansion": {
      const isPlain = part.prefix === undefined && part.index === undefined && part.operation === undefined;
      return isPlain ? placePiece(part.parameter) : undefined;
    }
    default:
      return undefined;
  }
}

const placePiece = (name: string): WordPiece | undefined =>
  name === "HOME" || name === "PWD" ? { kind: "variable", name } : undefined;

const staticKinds: ReadonlySet<string> = new Set(["AnsiCQuoted", "DoubleQuoted", "Glob", "Literal", "SingleQuoted"]);

const isStaticPart = (part: Part): boolean =>
  staticKinds.has(part.type) && (part.type !== "DoubleQuoted" || part.parts.every(isStaticPart));

type Part = NonNullable<Word["parts"]>[number];
type Kind = Part["type"];

const innerKinds = (word: Word): readonly Kind[] =>
  (word.parts ?? []).flatMap((part) => (part.type === "DoubleQuoted" ? part.parts.map((inner) => inner.type) : []));

interface GitArgs {
  /** The subcommand and its arguments. */
  readonly rest: readonly ShellWord[];
  /** The targets of `-C`, in order. */
  readonly folders: readonly ShellWord[];
  /** Given by `-c`; an alias among them may stand for any subcommand. */
  readonly settings: readonly ShellWord[];
}

/** `git -C folder -c key=value --no-pager push` is a `git push`. */
export function splitGitArgs(args: readonly ShellWord[]): GitArgs {
  const folders: ShellWord[] = [];
  const settings: ShellWord[] = [];
  let at = 0;
  for (; args[at]?.kind === "plain" && args[at]?.value.startsWith("-") === true; at += 1) {
    const option = args[at]?.value ?? "";
    const value = args[at + 1];
    if (!gitValueOptions.has(option)) continue;
    at += 1;
    if (value === undefined) break;
    if (option === "-C") folders.push(value);
    if (option === "-c" || option === "--config-env") settings.push(value);
  }
  return { rest: args.slice(at), folders, settings };
}

/** Options whose value is a separate word. */
const gitValueOptions: ReadonlySet<string> = new Set(
  "-C -c --attr-source --config-env --git-dir --namespace --super-prefix --work-tree".split(" "),
);
