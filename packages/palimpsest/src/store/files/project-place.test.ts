import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { findProjectPlace, rootCommits, workRoot } from "./project-place.ts";

afterEach(() => vi.unstubAllEnvs());

interface HostileRepository {
  readonly folder: string;
  /** What programs that were started have left behind. */
  readonly trace: string;
  readonly root: string;
}

/** Its settings would start a program at whatever git does, a missing commit makes git fetch, and the folder has a git of its own. */
async function hostileRepository(): Promise<HostileRepository> {
  const above = await temporaryFolder();
  const folder = join(above, "project");
  const trace = join(above, "trace");
  await mkdir(folder);
  await mkdir(trace);
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  const commit = (message: string): string => {
    git("-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", message);
    return git("rev-parse", "HEAD").trim();
  };
  git("init", "-q");
  const root = commit("first");
  const leave = (name: string): string => `touch ${trace}/${name}`;
  for (const [key, value] of [
    ["core.fsmonitor", leave("fsmonitor")],
    ["core.pager", leave("pager")],
    ["pager.rev-list", leave("pager")],
    ["diff.external", leave("external")],
    ["core.hooksPath", join(above, "hooks")],
    ["core.sshCommand", leave("ssh")],
    ["alias.rev-list", `!${leave("alias")}`],
    ["extensions.partialClone", "origin"],
    ["remote.origin.promisor", "true"],
    ["remote.origin.url", `ext::sh -c touch% ${trace}/fetched`],
    ["protocol.ext.allow", "always"],
  ] as const)
    git("config", key, value);
  for (const path of [join(folder, ".git", "git"), join(folder, "git")]) {
    await writeFile(path, `#!/bin/sh\n${leave("own-git")}\n`);
    await chmod(path, 0o755);
  }
  return { folder, trace, root };
}

test("looking for root commits starts no program of the repository, and finds them", async () => {
  const { folder, trace, root } = await hostileRepository();
  vi.stubEnv("GIT_DIR", "/elsewhere");
  vi.stubEnv("GIT_CONFIG_PARAMETERS", `'alias.rev-list'='!touch ${trace}/parameters'`);
  vi.stubEnv("PATH", [".", "", process.env["PATH"]].join(delimiter));
  expect(await rootCommits(await findProjectPlace(folder))).toEqual([root]);
  expect(await readdir(trace)).toEqual([]);
});

test("a commit that is missing is not fetched by a transport of the repository's settings", async () => {
  const { folder, trace, root } = await hostileRepository();
  await rm(join(folder, ".git", "objects", root.slice(0, 2), root.slice(2)));
  expect(await rootCommits(await findProjectPlace(folder))).toBeUndefined();
  expect(await readdir(trace)).toEqual([]);
  // Plain git does fetch: the test can fail.
  try {
    execFileSync("git", ["rev-list", "HEAD"], { cwd: folder, stdio: "ignore" });
  } catch {
    // There is nothing to fetch from.
  }
  expect(await readdir(trace)).toEqual(["fetched"]);
});

/** A repository of the user's with a worktree, and a folder beside them that came from somewhere. */
async function besideOthers() {
  const top = await realpath(await temporaryFolder());
  const [main, tree, archive] = [join(top, "main"), join(top, "tree"), join(top, "archive")];
  await mkdir(archive);
  const git = (...args: readonly string[]): string => execFileSync("git", args, { encoding: "utf8", stdio: "pipe" });
  git("init", "-q", main);
  git("-C", main, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "first");
  git("-C", main, "worktree", "add", "-q", tree);
  return { top, main, tree, archive, git };
}

test("an agent works in the main worktree and its own, and in no other folder that `.git` names", async () => {
  const { top, main, tree, archive, git } = await besideOthers();
  expect([await workRoot(main), await workRoot(tree)]).toEqual([main, main]);
  const moved = join(top, "moved");
  await rename(tree, moved);
  expect(await workRoot(moved)).toBe(moved);
  git("-C", main, "worktree", "repair", moved);
  expect(await workRoot(moved)).toBe(main);
  expect(await workRoot(archive)).toBe(archive);
  expect(await workRoot(join(top, "none"))).toBe(join(top, "none"));
});

test.each([
  ["the repository of another folder", "../main/.git"],
  ["another's worktree", "../main/.git/worktrees/tree"],
  ["a worktree that is not there", "../main/.git/worktrees/none"],
  ["a worktree that is not there, of a folder above", "../.git/worktrees/none"],
  ["a worktree that is not there, of the whole disk", "/.git/worktrees/none"],
  ["a worktree of its own making, whose repository is elsewhere", "own/worktrees/tree"],
])("a `.git` that came with an archive leads nowhere: %s", async (_what, target) => {
  const { archive } = await besideOthers();
  const own = join(archive, "own/worktrees/tree");
  await mkdir(own, { recursive: true });
  await writeFile(join(own, "commondir"), "../../../../main/.git\n");
  await writeFile(join(own, "gitdir"), "../../../.git\n");
  await writeFile(join(archive, ".git"), `gitdir: ${target}\n`);
  expect(await workRoot(archive)).toBe(archive);
  await mkdir(join(archive, "deep"));
  expect(await workRoot(join(archive, "deep"))).toBe(archive);
});

test("a `.git` that is a link leads nowhere", async () => {
  const { main, archive } = await besideOthers();
  await symlink(join(main, ".git"), join(archive, ".git"));
  expect(await workRoot(archive)).toBe(archive);
});
