import { execFile } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ShellAction } from "palimpsest/internal/ports/tool";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { errorCode } from "../error-code.ts";
import { isInside } from "../resolve-real-path.ts";
import { rootPatterns, type RuleRoots } from "../permission/rule.ts";
import { parseLine, type SimpleCommand } from "../shell/parse-line.ts";
import { historyMsMax } from "./limits.ts";

interface HistoryInput extends RuleRoots {
  readonly root: string;
  /** The folder that holds its refs. */
  readonly repository: string;
  /** Patterns of deny rules for reading. */
  readonly patterns: readonly string[];
}

/**
 * Whether a repository has ever held files that rules hide: then hiding the files alone would leave `git show
 * HEAD:secret`. If unknown, the answer is yes. Unreferenced objects are not considered.
 */
export class GitHistory {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #answerByQuestion = new Map<string, boolean>();

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  /** Must not reject. Git is asked again only if something was committed or fetched since. */
  async holds({ root, repository, patterns, ...places }: HistoryInput): Promise<boolean> {
    const specs = patterns.map((pattern) => pathspecs(pattern, { root, ...places }));
    const known = specs.flatMap((one) => one ?? []);
    if (known.length === 0 || specs.includes(undefined)) return specs.includes(undefined);
    const question = JSON.stringify([root, known, await refTimes(repository)]);
    const answer = this.#answerByQuestion.get(question) ?? (await this.#ask(root, known));
    this.#answerByQuestion.set(question, answer);
    return answer;
  }

  async #ask(root: string, specs: readonly string[]): Promise<boolean> {
    const args = ["-C", root, "log", "--all", "--reflog", "-1", "--format=%h", "--", ...specs];
    try {
      const options = { env: safeGitEnvironment(this.#env), timeout: historyMsMax };
      return (await promisify(execFile)("git", args, options)).stdout.trim() !== "";
    } catch {
      return true;
    }
  }
}

/** In git's pathspec syntax; empty if the rule is for other folders, undefined if git can't express it. */
function pathspecs(
  pattern: string,
  { root, ...places }: RuleRoots & { readonly root: string },
): readonly string[] | undefined {
  const specs: string[] = [];
  for (const { folder, below } of rootPatterns(pattern, places)) {
    const written = (folder === "/" ? "" : folder) + below.replace(/\/[^/]*[*?[{].*$/s, "");
    if (!isInside(folder, root) && !isInside(written, root)) {
      if (isInside(root, written)) return undefined;
      continue;
    }
    const relative = ((folder === "/" ? "" : folder) + below).slice(root.length + 1);
    if (relative === "" || /[{}\\]/.test(relative)) return undefined;
    specs.push(`:(top,icase,glob)${relative}`, `:(top,icase,glob)${relative}/**`);
  }
  return specs;
}

/** Files that git changes when it learns of new commits. */
const refFiles: readonly string[] = [
  "HEAD",
  "packed-refs",
  "FETCH_HEAD",
  "ORIG_HEAD",
  "logs/HEAD",
  "refs",
  "refs/heads",
  "refs/remotes",
  "refs/stash",
];

const refTimes = async (repository: string): Promise<readonly number[]> =>
  await Promise.all(
    refFiles.map(async (name) => {
      try {
        return (await stat(join(repository, name))).ctimeMs;
      } catch (error) {
        if (errorCode(error) === undefined) throw error;
        return 0;
      }
    }),
  );

/**
 * Whether the line may show files from the history. Not if it is known to change nothing and to show no file, nor if it
 * consists only of git commands that neither show content nor write it to files.
 */
export async function mayShowHistory(act: ShellAction, hooks: readonly string[]): Promise<boolean> {
  if (act.shows?.others !== "none") return true;
  if (act.effect === "read-only") return act.shows.files.length > 0;
  const line = parseLine(act.command);
  if (line.kind !== "line" || line.beyond.size > 0) return true;
  const subcommands = line.commands.map(gitSubcommand);
  if (subcommands.some((one) => !silentSubcommands.has(one))) return true;
  return subcommands.includes("commit") && (await Promise.all(hooks.map(hasHooks))).includes(true);
}

/** Empty if it is not git, or has an option that may show content. */
function gitSubcommand({ words, assigns }: SimpleCommand): string {
  const [program, subcommand, ...args] = words.map(({ kind, value }) => (kind === "plain" ? value : "-p"));
  if (program !== "git" || subcommand === undefined || assigns.length > 0) return "";
  return args.some((word) => /^-[a-z]*[ipv]|^--(?:int|p(?!orcelain)|v)/i.test(word)) ? "" : subcommand;
}

const silentSubcommands: ReadonlySet<string> = new Set([
  "add",
  "branch",
  "commit",
  "remote",
  "rev-parse",
  "status",
  "tag",
]);

/** A hook may be any program, and a commit shows its output. */
async function hasHooks(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).some((name) => !name.endsWith(".sample"));
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return errorCode(error) !== "ENOENT";
  }
}
