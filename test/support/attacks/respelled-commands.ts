import * as fc from "fast-check";

/** Commands of harmless programs that change a file of the project by one of their words. */
const changingCommands: readonly (readonly string[])[] = [
  ["find", ".", "-maxdepth", "0", "-exec", "touch", "evil", "';'"],
  ["find", "one", "-delete"],
  ["find", "one", "-fprint", "evil"],
  ["sort", "a", "-oevil"],
  ["sort", "a", "--output=evil"],
  ["uniq", "a", "evil"],
  ["uniq", "one/b1", "one/b2"],
  ["sed", "-ni", "1p", "b"],
  ["sed", "wevil", "a"],
  ["git", "log", "--output=evil"],
  ["git", "diff", "HEAD", "--output=evil"],
  ["git", "branch", "evil"],
  ["printf", "-v", "PATH", "bin", ";", "tree"],
];

/** Words of the commands above that can be file names, so that a pattern matches them. */
export const optionNames: readonly string[] = [
  ...new Set(changingCommands.flat().filter((word) => !/[/';]|^\.$|^(?:evil|one)$/.test(word))),
];

/** A line that has the effect of one of the commands, if the shell expands its words to the originals. */
export const respelledCommand = (): fc.Arbitrary<string> =>
  fc
    .constantFrom(...changingCommands)
    .chain(([program = "", ...args]) =>
      fc.tuple(
        fc.constant(program),
        ...args.map((arg) => fc.oneof(fc.constant(arg), fc.constantFrom(...respellings(arg)))),
      ),
    )
    .map((words) => words.join(" "));

/** Other ways to write a word: patterns, braces, quotes, escapes, expansions. */
function respellings(word: string): readonly string[] {
  if (word.includes(";")) return [word];
  const [first, rest, start, last] = [word.slice(0, 1), word.slice(1), word.slice(0, -1), word.slice(-1)];
  return [
    `${start}?`,
    `${start}*`,
    `${start}[${last}]`,
    `${start}[!.]`,
    `?${rest}`,
    `[${first}]${rest}`,
    `*${rest}`,
    `${first}*`,
    `{${word},}`,
    `${start}{${last},}`,
    `{${word},${word}}`,
    `'${word}'`,
    `"${start}"${last}`,
    `\\${word}`,
    `${first}''${rest}`,
    `$'${word}'`,
    `$'\\x${first.charCodeAt(0).toString(16).padStart(2, "0")}'${rest}`,
    `$(echo ${word})`,
    `\${none:-${word}}`,
    `${start}@(${last})`,
  ];
}
