import { isOtherHome } from "./expand.ts";
import { splitGitArgs, type ShellWord } from "./shell-word.ts";

/**
 * Where a command may lead: the targets of `cd` and its like, of `git -C` and of `env -C`. A dynamic word means an
 * unknown folder, whether it is a folder (`cd -`, `cd ~user`) or an option (`cd -P`).
 */
export function folderTargets([name, ...args]: readonly ShellWord[]): readonly ShellWord[] {
  if (name?.value === "git") return splitGitArgs(args).folders.map(markUnknown);
  const option = folderOptions.get(name?.value ?? "");
  if (option !== undefined) return args.filter(({ value }) => option.test(value)).map(markUnknown);
  if (!folderChangers.has(name?.value ?? "")) return [];
  const isBare = args.every(({ value }) => value.startsWith("-"));
  return [...(isBare ? [home] : []), ...args.map(markUnknown)];
}

/** `chdir` is the same as `cd` in some shells; a bare `pushd` leads home in some. */
const folderChangers: ReadonlySet<string> = new Set(["cd", "chdir", "pushd"]);

/** Programs that start another one in the folder that an option names. */
const folderOptions: ReadonlyMap<string, RegExp> = new Map([
  ["env", /^-[^-]*C|^--c/],
  ["sudo", /^-[^-]*D|^--chd/],
]);

const home: ShellWord = { kind: "plain", value: "~" };

const markUnknown = (word: ShellWord): ShellWord =>
  word.value.startsWith("-") || isOtherHome(word.value) ? { kind: "dynamic", value: word.value } : word;
