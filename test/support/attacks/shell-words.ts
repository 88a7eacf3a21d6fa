import * as fc from "fast-check";

/** Characters that the shell expands, removes or keeps, in any order. */
const wordPieces: readonly string[] = [
  ..."a b - / . .. , = : ~ * ? [ ] { } ' \" \\ ! # ^ é | ( )".split(" "),
  "~/",
  "x=",
  "x=a:~/",
  "[ab]",
  "[!a]",
  "[[:alpha:]]",
  "{a,b}",
  "{a,",
  "{1..2}",
  "HEAD@{1}",
  "@(a|b)",
  "$HOME",
  '"$PWD"',
  "${HOME}",
  "$x",
  "$'\\x61'",
  "$'\\xc3\\xa9'",
  "$'\\n'",
  "''",
  '""',
  "\\*",
  "**",
];

/** A word of a command in shell language, or what looks like one. */
export const shellWord = (): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...wordPieces), { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join(""));

/** File names that patterns of the same characters match. */
export const oddNames: readonly string[] = [
  ..."a b ab ba -a -ab .a ..a a.b a=b x=a:~ é aé [ab] {a,b} ~ * ? a* HEAD@{1} a,b ! # ^".split(" "),
  "a b",
  "'",
  '"',
  "\\",
];
