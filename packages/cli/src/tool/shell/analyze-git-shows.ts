import { type ShellWord, sliceWord, splitGitArgs } from "./shell-word.ts";

/**
 * What a git command may show, of files or of the history. `perhaps`: anything in the repository. Unknown commands may
 * show everything.
 */
export function analyzeGitShows(args: readonly ShellWord[]): CommandShows {
  const { rest, settings } = splitGitArgs(args);
  const before = args.slice(0, args.length - rest.length);
  const [subcommand, ...words] = rest;
  if (subcommand === undefined) return showsNothing;
  const isReconfigured =
    settings.length > 0 || before.some(({ value }) => /^--(?:config|exec|git|work|namesp)/.test(value));
  const shown = subcommand.kind === "plain" ? subcommandShows(subcommand.value, words) : withOthers(showsNothing);
  return isReconfigured ? withOthers(shown) : shown;
}

function subcommandShows(subcommand: string, words: readonly ShellWord[]): CommandShows {
  if (isQuietSubcommand(subcommand, words)) return quietShows(words);
  if (subcommand === "config") return showsNames(words, "itself");
  if (subcommand === "mv") return showsNames(words, "below");
  if (words.some(({ value }) => value === "--no-index")) return withOthers(showsNames(words, "below"));
  return historyShows(subcommand, words);
}

/** Files named by options may be shown. A format may also ask for the content of a reference, which may be a file. */
function quietShows(words: readonly ShellWord[]): CommandShows {
  const files = words.flatMap((word, index): readonly ShellWord[] => {
    const value = fileOption.exec(word.value)?.groups?.["value"];
    if (value === undefined) return [];
    return value === "" ? words.slice(index + 1, index + 2) : [sliceWord(word, word.value.length - value.length)];
  });
  const shown = showsNames(files, "itself");
  return words.some(({ value }) => /%\(\*?raw/.test(value)) ? withOthers(shown) : shown;
}

/** Options that name messages, templates or lists of paths. */
const fileOption = /^(?:-[a-zA-Z]*?[FtX]|--(?:ex|fi|pathspec-f|te)[^=]*=?)(?<value>.*)$/s;

/** Everything, unless its words limit it: paths after `--`, or objects by their paths. */
function historyShows(subcommand: string, words: readonly ShellWord[]): CommandShows {
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

/** `HEAD:src/a`, `:src/a`; not `HEAD:`, which is a whole tree, nor `:/text`, which searches for a commit. */
const isObjectPath = ({ value }: ShellWord): boolean => /^[^:]*:(?:\d:)?[^:/(!^][^:]*$/.test(value);

const objectCommands: ReadonlySet<string> = new Set(["cat-file", "show"]);
const limitable: ReadonlySet<string> = new Set(
  "cat-file diff diff-files diff-index diff-tree grep log reflog show whatchanged".split(" "),
);

/** Whether it shows no content, or only writes content back to where it came from. */
function isQuietSubcommand(subcommand: string, words: readonly ShellWord[]): boolean {
  if (words.some(({ kind }) => kind === "dynamic")) return quietAlways.has(subcommand) && !dependent.has(subcommand);
  const values = words.map(({ value }) => value);
  if (transferring.has(subcommand) && values.some(isFolderValue)) return false;
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

/** Content that goes into another folder can be read there. */
const transferring: ReadonlySet<string> = new Set(["fetch", "pull", "push", "remote"]);

const isFolderValue = (value: string): boolean => /^(?:[./~]|file:)/.test(value);

/** Their words may hold a folder or a format. */
const dependent: ReadonlySet<string> = new Set([...transferring, "branch", "for-each-ref", "tag"]);

const quietButForPatches: ReadonlySet<string> = new Set(
  "add checkout cherry-pick commit merge pull rebase reset restore revert stash status switch".split(" "),
);

/** Options that show patches, or open an editor with them. */
const patching = /^-[^-]*[peiv]|^--(?:patch|interactive|verb|edit|show|unif|inter|output)/;

/** Options of `git log` that show only names, messages and numbers. */
const listing =
  /^(?:-\d+|-n\d*|--(?:oneline|graph|all|decorate.*|max-count=\d+|format=.*|pretty.*|stat.*|shortstat|name-only|name-status|since=.*|until=.*|after=.*|before=.*|author=.*|grep=.*|no-merges|merges|reverse|first-parent|abbrev-commit|date=.*|branches|tags|remotes|no-color|color=.*|no-decorate))$/;

/** What one command may show. */
export interface CommandShows {
  readonly named: readonly ShownWord[];
  /** `perhaps`: also files that its words don't name. */
  readonly others: "none" | "perhaps";
}

export interface ShownWord {
  readonly word: ShellWord;
  /** `below`: also everything in it, if it is a folder. */
  readonly reach: "itself" | "below";
  /**
   * `name`: a file name, if such a file exists. `text`: file names may also occur anywhere in it. `history`: a path
   * that a repository has or once had.
   */
  readonly as: "name" | "text" | "history";
}

export const showsNothing: CommandShows = { named: [], others: "none" };
export const withOthers = (shown: CommandShows): CommandShows => ({ ...shown, others: "perhaps" });

/** A word whose expansion is unknown may name any file. */
export function showsNames(words: readonly ShellWord[], reach: ShownWord["reach"]): CommandShows {
  const isUnseen = words.some(({ kind, pieces }) => kind === "dynamic" && pieces === undefined);
  return {
    named: words.map((word): ShownWord => ({ word, reach, as: "name" })),
    others: isUnseen ? "perhaps" : "none",
  };
}
