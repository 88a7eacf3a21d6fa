import { splitGitArgs, type ShellWord, sliceWord } from "../shell-word.ts";
import {
  joinToLine,
  type StartedPrograms,
  type StarterRow,
  startsAnything,
  startsNothing,
  startsScripts,
} from "./starter-row.ts";

/** The programs that git gets: by settings, by options, and as arguments of some commands. */
export const gitStarter: StarterRow = (args) => {
  const { rest, settings } = splitGitArgs(args);
  const [subcommand, ...words] = rest;
  const settingScripts = settings.map((setting) => aliasScript(sliceWord(setting, setting.value.indexOf("=") + 1)));
  const inner = subcommand === undefined ? startsNothing : analyzeSubcommand(subcommand, words);
  const isForeignCommand =
    subcommand?.kind === "plain" && !subcommand.value.startsWith("-") && !knownCommands.has(subcommand.value);
  // An alias may be any command, and so may a command that is not git's own.
  const isUnclear =
    inner.sight === "unclear" ||
    isForeignCommand ||
    settings.some(({ kind, value }) => kind !== "plain" || /^alias\./i.test(value));
  return { ...inner, scripts: [...inner.scripts, ...settingScripts], sight: isUnclear ? "unclear" : "clear" };
};

function analyzeSubcommand(subcommand: ShellWord, words: readonly ShellWord[]): StartedPrograms {
  if (subcommand.kind !== "plain") return startsAnything;
  switch (subcommand.value) {
    case "bisect":
      return words[0]?.value === "run" ? { ...startsNothing, commands: [words.slice(1)] } : startsNothing;
    case "submodule": {
      const at = words.findIndex(({ value }) => value === "foreach");
      const line =
        at === -1 ? [] : words.slice(at + 1).filter(({ value }, index) => index > 1 || !value.startsWith("-"));
      return line.length === 0 ? startsNothing : startsScripts([joinToLine(line)]);
    }
    case "config":
      return {
        ...startsScripts(words.slice(1).map(aliasScript)),
        sight: words.some(({ value }) => /^alias\./i.test(value)) && words.length > 1 ? "unclear" : "clear",
      };
    case "filter-branch":
    case "shell":
    case "for-each-repo":
      return startsAnything;
    case "remote-ext":
      return startsScripts([joinToLine(words.slice(1))]);
    case "subtree":
      return words[0]?.value === "push" ? { ...startsNothing, commands: [[git, ...words]] } : startsNothing;
    case "send-pack":
    case "http-push":
      return { ...startsNothing, commands: [[git, { kind: "plain", value: "push" }, ...words]] };
    default:
      return startsScripts([...optionValues(words), ...transports(words)]);
  }
}

const git: ShellWord = { kind: "plain", value: "git" };

/** `!line`: an alias for a shell script. */
const aliasScript = (word: ShellWord): ShellWord => (word.value.startsWith("!") ? sliceWord(word, 1) : word);

const starterOptions =
  /^(?:-x|-O|-u|--(?:exec|ext|open-f|upload-p|receive-p|tool|gpg-s|pager|editor|trailer)[\w-]*)(?<joined>=?.*)$/s;

/** Values of options that name a program. Options that only look similar yield a harmless text. */
function optionValues(words: readonly ShellWord[]): readonly ShellWord[] {
  return words.flatMap((word, index): readonly ShellWord[] => {
    const joined = starterOptions.exec(word.value)?.groups?.["joined"];
    if (joined === undefined) return [];
    const value = joined.replace(/^=/, "");
    return value === "" ? words.slice(index + 1, index + 2) : [sliceWord(word, word.value.length - value.length)];
  });
}

/** `ext::sh -c …` runs a program in place of a remote machine. */
const transports = (words: readonly ShellWord[]): readonly ShellWord[] =>
  words.flatMap((word) =>
    word.value.startsWith("ext::") ? [{ kind: word.kind, value: word.value.slice(5).replaceAll("% ", " ") }] : [],
  );

const knownCommands: ReadonlySet<string> = new Set(
  (
    "add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap " +
    "check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config " +
    "count-objects credential daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import " +
    "fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep " +
    "hash-object help hook http-fetch http-push index-pack init init-db interpret-trailers lfs log ls-files ls-remote ls-tree " +
    "mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree " +
    "multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push " +
    "range-diff read-tree rebase receive-pack reflog refs remote remote-ext repack replace request-pull rerere reset restore " +
    "rev-list rev-parse revert rm send-pack shell shortlog show show-branch show-index show-ref sparse-checkout stage stash " +
    "status stripspace submodule subtree switch symbolic-ref tag unpack-file unpack-objects update-index update-ref " +
    "update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree write-tree"
  ).split(" "),
);
