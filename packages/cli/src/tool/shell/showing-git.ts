import { type ShellWord, tailOf } from "./word.ts";
import { names, nothing, perhaps, type Shown, type ShownWord } from "./shown.ts";
import { gitParts } from "./git-parts.ts";

/**
 * Contents that a git command may show, of files or of the history. `perhaps`: whatever is in the repository. Commands
 * that are not known may show everything.
 */
export function showingOfGit(args: readonly ShellWord[]): Shown {
  const { rest, settings } = gitParts(args);
  const before = args.slice(0, args.length - rest.length);
  const [subcommand, ...words] = rest;
  if (subcommand === undefined) return nothing;
  const isSetUp = settings.length > 0 || before.some(({ value }) => /^--(?:config|exec|git|work|namesp)/.test(value));
  const shown = subcommand.kind === "plain" ? shownBy(subcommand.value, words) : perhaps(nothing);
  return isSetUp ? perhaps(shown) : shown;
}

function shownBy(subcommand: string, words: readonly ShellWord[]): Shown {
  if (isQuiet(subcommand, words)) return shownQuietly(words);
  if (subcommand === "config") return names(words, "itself");
  if (subcommand === "mv") return names(words, "below");
  if (words.some(({ value }) => value === "--no-index")) return perhaps(names(words, "below"));
  return showingOfHistory(subcommand, words);
}

/** A format may ask for what a reference leads to, which may be a file. What stands in a file that it is given it may say. */
function shownQuietly(words: readonly ShellWord[]): Shown {
  const files = words.flatMap((word, index): readonly ShellWord[] => {
    const value = fileOption.exec(word.value)?.groups?.["value"];
    if (value === undefined) return [];
    return value === "" ? words.slice(index + 1, index + 2) : [tailOf(word, word.value.length - value.length)];
  });
  const shown = names(files, "itself");
  return words.some(({ value }) => /%\(\*?raw/.test(value)) ? perhaps(shown) : shown;
}

/** Messages, templates, lists of paths. */
const fileOption = /^(?:-[a-zA-Z]*?[FtX]|--(?:ex|fi|pathspec-f|te)[^=]*=?)(?<value>.*)$/s;

/** Everything, but for what its words limit it to: paths behind `--`, or objects by their paths. */
function showingOfHistory(subcommand: string, words: readonly ShellWord[]): Shown {
  const end = words.findIndex(({ value }) => value === "--");
  const before = end === -1 ? words : words.slice(0, end);
  const paths = end === -1 ? [] : words.slice(end + 1);
  const operands = before.filter(({ value }) => !value.startsWith("-"));
  const isLimited =
    limitable.has(subcommand) &&
    words.every(({ kind, value }) => kind === "plain" && !/^--(?:full-d|follow|output|o|no-i|ext|textc)/.test(value)) &&
    (paths.length > 0
      ? paths.every(({ value }) => !/^:|[*?[\\]/.test(value)) && !operands.some(isObjectPath)
      : objectCommands.has(subcommand) && operands.length > 0 && operands.every(isObjectPath));
  return {
    named: [...words].map((word): ShownWord => ({ word, reach: "below", as: "history" })),
    others: isLimited || subcommand === "blame" || subcommand === "annotate" ? "none" : "perhaps",
  };
}

/** `HEAD:src/a`, `:src/a`; not `HEAD:`, which is a whole tree, nor `:/text`, which looks for a commit. */
const isObjectPath = ({ value }: ShellWord): boolean => /^[^:]*:(?:\d:)?[^:/(!^][^:]*$/.test(value);

const objectCommands: ReadonlySet<string> = new Set(["cat-file", "show"]);
const limitable: ReadonlySet<string> = new Set(
  "cat-file diff diff-files diff-index diff-tree grep log reflog show whatchanged".split(" "),
);

/** Whether it shows no contents, or only of what it is about to write where that was anyway. */
function isQuiet(subcommand: string, words: readonly ShellWord[]): boolean {
  if (words.some(({ kind }) => kind === "dynamic")) return quietAlways.has(subcommand) && !dependent.has(subcommand);
  const values = words.map(({ value }) => value);
  if (transferring.has(subcommand) && values.some(isFolder)) return false;
  if (quietAlways.has(subcommand)) return true;
  if (subcommand === "log" || subcommand === "reflog" || subcommand === "shortlog")
    return values.every((value) => !value.startsWith("-") || listing.test(value));
  if (subcommand === "stash" && !/^(?:-.*|push|save|pop|apply|drop|clear)$/.test(values[0] ?? "push"))
    return values[0] === "list" && values.slice(1).every((value) => listing.test(value));
  return quietButForPatches.has(subcommand) && !values.some((value) => patching.test(value));
}

const quietAlways: ReadonlySet<string> = new Set(
  (
    "--version branch check-attr check-ignore clean count-objects describe fetch for-each-ref gc help init ls-files " +
    "ls-tree merge-base name-rev prune push remote rev-list rev-parse rm show-ref symbolic-ref tag update-ref version"
  ).split(" "),
);

/** What goes into another folder can be read there. */
const transferring: ReadonlySet<string> = new Set(["fetch", "pull", "push", "remote"]);

const isFolder = (value: string): boolean => /^(?:[./~]|file:)/.test(value);

/** A folder or a format may stand in their words. */
const dependent: ReadonlySet<string> = new Set([...transferring, "branch", "for-each-ref", "tag"]);

const quietButForPatches: ReadonlySet<string> = new Set(
  "add checkout cherry-pick commit merge pull rebase reset restore revert stash status switch".split(" "),
);

/** Their patches, and those that an editor would be shown. */
const patching = /^-[^-]*[peiv]|^--(?:patch|interactive|verb|edit|show|unif|inter|output)/;

/** Options of `git log` that show names, messages and figures only. */
const listing =
  /^(?:-\d+|-n\d*|--(?:oneline|graph|all|decorate.*|max-count=\d+|format=.*|pretty.*|stat.*|shortstat|name-only|name-status|since=.*|until=.*|after=.*|before=.*|author=.*|grep=.*|no-merges|merges|reverse|first-parent|abbrev-commit|date=.*|branches|tags|remotes|no-color|color=.*|no-decorate))$/;
