import { forEachChild, parse, type SyntaxNode } from "unbash";
import { shellCommandCharsMax } from "../limits.ts";
import { isLiteralWord } from "./word.ts";

/**
 * Whether every word of a line stands as it is: the shell expands nothing, sets nothing and runs nothing but the commands
 * that can be read there. Without a sandbox only such lines are run unasked. Pure.
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

/** Commands, lists and pipelines of words; redirections that name a file. */
const literalSyntax: ReadonlySet<string> = new Set(
  (
    "AndOr BraceGroup Command CompoundList DoubleQuoted FileDescriptor Literal Negation Pipeline Redirect Redirected " +
    "Script SingleQuoted Statement Subshell Time Word"
  ).split(" "),
);
