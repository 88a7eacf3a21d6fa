import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { gitFolders } from "./git-folders.ts";

async function repository() {
  const top = await temporaryFolder();
  const root = join(top, "main");
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always", ...args], {
      cwd,
    });
  await mkdir(root);
  git(root, "init", "-q");
  git(root, "commit", "-q", "--allow-empty", "-m", "one");
  const found = (path: string) => {
    const { writable, protected: kept, contents } = gitFolders(path);
    const short = (paths: readonly string[]) => paths.map((one) => one.replace(`${top}/`, "")).toSorted();
    return { writable: short(writable), kept: short(kept), contents: short(contents) };
  };
  return { top, root, git, found };
}

test("a repository: what names programs is kept", async () => {
  const { root, git, found } = await repository();
  const kept = ["main/.git/commondir", "main/.git/config", "main/.git/config.worktree", "main/.git/hooks"];
  expect(found(root)).toEqual({
    writable: [],
    kept,
    contents: ["main/.git/lfs", "main/.git/objects", "main/.git/rr-cache"],
  });
  git(root, "config", "core.hooksPath", ".husky/_");
  expect(found(root).kept).toEqual([...kept, "main/.husky/_"]);
  for (const name of ["monitor", "settings", "convert", "other"]) await writeFile(join(root, name), "");
  git(root, "config", "core.fsmonitor", "./monitor --all");
  git(root, "config", "include.path", "../settings");
  git(root, "config", "diff.x.textconv", "sh convert");
  git(root, "config", "remote.x.url", "other");
  expect(found(root).kept).toEqual([...kept, "main/.husky/_", "main/convert", "main/monitor", "main/settings"]);
  await writeFile(join(root, ".git/config"), "[core] hooksPath = hooks # where they are\n");
  expect(found(root).kept).toEqual([...kept, "main/hooks"]);
});

test("a folder without one: none can be made", async () => {
  const { top, found } = await repository();
  expect(found(top)).toEqual({ writable: [], kept: [".git"], contents: [] });
});

test("a worktree: the repository that it is of", async () => {
  const { top, root, git, found } = await repository();
  git(root, "worktree", "add", "-q", "../tree");
  expect(found(join(top, "tree"))).toEqual({
    writable: ["main/.git"],
    kept: [
      "main/.git/commondir",
      "main/.git/config",
      "main/.git/config.worktree",
      "main/.git/hooks",
      "main/.git/worktrees/tree/commondir",
      "main/.git/worktrees/tree/config.worktree",
      "main/.git/worktrees/tree/gitdir",
      "tree/.git",
    ],
    contents: ["main/.git/lfs", "main/.git/objects", "main/.git/rr-cache"],
  });
});

test("submodules: those of the repository, and one that is the project itself", async () => {
  const { top, root, git, found } = await repository();
  git(top, "clone", "-q", root, "other");
  git(root, "submodule", "--quiet", "add", "../other", "deep/sub");
  const own = ["commondir", "config", "config.worktree", "hooks"].map((name) => `main/.git/modules/deep/sub/${name}`);
  expect(found(root).kept).toEqual(expect.arrayContaining(own));
  expect(found(root).contents).toContain("main/.git/modules/deep/sub/objects");
  expect(found(join(root, "deep/sub"))).toMatchObject({
    writable: ["main/.git/modules/deep/sub"],
    kept: [...own, "main/deep/sub/.git"],
  });
});

test.each([
  ["any folder", (top: string) => top],
  ["another repository", (top: string) => join(top, "main/.git")],
  ["a worktree of another folder", (top: string) => join(top, "main/.git/worktrees/tree")],
])("a file .git that names %s gives no right to write there", async (_, named) => {
  const { top, root, git, found } = await repository();
  git(root, "worktree", "add", "-q", "../tree");
  const liar = join(top, "liar");
  await mkdir(liar);
  await writeFile(join(liar, ".git"), `gitdir: ${named(top)}\n`);
  expect(found(liar)).toEqual({ writable: [], kept: ["liar/.git"], contents: [] });
});
