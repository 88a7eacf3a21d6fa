import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../failure.ts";
import { gitFileBytesMax } from "../limits.ts";

/** The branch that is checked out where the folder is, `detached at …` without one; undefined outside of a repository. */
export async function gitBranch(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const head = await headIn(at);
    if (head !== undefined) return branchIn(head);
    if (dirname(at) === at) return undefined;
  }
}

/** In a worktree `.git` is a file that names the folder. */
async function headIn(folder: string): Promise<string | undefined> {
  const git = join(folder, ".git");
  const own = await small(join(git, "HEAD"));
  if (own !== undefined) return own;
  const named = /^gitdir: (.+)$/m.exec((await small(git)) ?? "")?.[1];
  return named === undefined ? undefined : await small(join(resolve(folder, named), "HEAD"));
}

function branchIn(head: string): string | undefined {
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1];
  if (branch !== undefined) return branch;
  const commit = /^[\da-f]{40,64}$/m.exec(head)?.[0];
  return commit === undefined ? undefined : `detached at ${commit.slice(0, 12)}`;
}

/** Undefined for what is not there, is no file, or is larger than git would write it. */
async function small(path: string): Promise<string | undefined> {
  try {
    const seen = await stat(path);
    return seen.isFile() && seen.size <= gitFileBytesMax ? await readFile(path, "utf8") : undefined;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}
