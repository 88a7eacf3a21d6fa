import { toSingleLine } from "palimpsest/internal/text/to-printable";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "../error-code.ts";
import { gitFileBytesMax } from "../limits.ts";

interface PlacePartDeps {
  /** Where the next command runs. */
  readonly cwd: () => string;
  /** The session's title. */
  readonly title?: () => string | undefined;
}

/**
 * The working directory, which a command may have changed since the session began, the branch and the session's title.
 */
export const placePart = ({ cwd, title }: PlacePartDeps): WorkingStatePart => ({
  name: "place",
  stability: usualStability.place,
  snapshot: async ({ budgets }) => {
    const folderNow = cwd();
    const branch = await findGitBranch(folderNow);
    const named = title?.();
    const lines = [
      `Working directory now: ${toSingleLine(folderNow)}`,
      ...(branch === undefined ? [] : [`Git branch now: ${toSingleLine(branch)}`]),
      ...(named === undefined ? [] : [`Title of this session: ${toSingleLine(named)}`]),
    ];
    const text = lines.join("\n");
    const handle = "pwd and git status tell it";
    return { kind: "state", pieces: [{ title: "working directory and branch", text, handle }], budget: budgets.other };
  },
});

/** The branch checked out at the folder, or `detached at …`; undefined outside a repository. */
export async function findGitBranch(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const head = await readHead(at);
    if (head !== undefined) return parseBranch(head);
    if (dirname(at) === at) return undefined;
  }
}

/** In a worktree `.git` is a file that names the folder. */
async function readHead(folder: string): Promise<string | undefined> {
  const git = join(folder, ".git");
  const repositoryHead = await readSmallFile(join(git, "HEAD"));
  if (repositoryHead !== undefined) return repositoryHead;
  const named = /^gitdir: (.+)$/m.exec((await readSmallFile(git)) ?? "")?.[1];
  return named === undefined ? undefined : await readSmallFile(join(resolve(folder, named), "HEAD"));
}

function parseBranch(head: string): string | undefined {
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1];
  if (branch !== undefined) return branch;
  const commit = /^[\da-f]{40,64}$/m.exec(head)?.[0];
  return commit === undefined ? undefined : `detached at ${commit.slice(0, 12)}`;
}

/** Undefined if it is missing, not a file, or larger than git would write it. */
async function readSmallFile(path: string): Promise<string | undefined> {
  try {
    const stats = await stat(path);
    return stats.isFile() && stats.size <= gitFileBytesMax ? await readFile(path, "utf8") : undefined;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
