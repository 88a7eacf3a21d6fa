import { execFileSync } from "node:child_process";
import { appendFile, chmod, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { findGitRisk, parseGitConfig } from "./find-git-risk.ts";

const env: Record<string, string> = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" };

function git(cwd: string, ...args: readonly string[]): string {
  const author = ["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"];
  return execFileSync("git", [...author, ...args], { cwd, env, encoding: "utf8", stdio: "pipe" });
}

/** A repository with one commit and one changed file that an attribute names. */
async function repository(): Promise<{ readonly root: string; readonly folder: string; readonly evil: string }> {
  const root = await temporaryFolder();
  const folder = join(root, "project");
  await mkdir(folder);
  git(folder, "init", "-q");
  await writeFile(join(folder, ".gitattributes"), "a diff=odd filter=odd merge=odd\n");
  await writeFile(join(folder, "a"), "one\n");
  git(folder, "add", ".");
  git(folder, "commit", "-q", "-m", "x");
  await writeFile(join(folder, "a"), "two\n");
  const evil = join(root, "evil.sh");
  await writeFile(evil, `#!/bin/sh\ntouch ${root}/started\ncat 2>/dev/null\n`);
  await chmod(evil, 0o755);
  return { root, folder, evil };
}

/** Commands that are run unasked, as they are run then: whether they started the program. */
async function isStarted(root: string, folder: string): Promise<boolean> {
  for (const args of [
    ["status"],
    ["diff"],
    ["log", "-p"],
    ["show"],
    ["blame", "a"],
    ["stash", "show"],
    ["describe", "--all", "--dirty"],
  ])
    try {
      execFileSync("git", args, { cwd: folder, env: safeGitEnvironment(env), stdio: "ignore", timeout: 10_000 });
    } catch {
      // Its exit code does not matter.
    }
  return (await readdir(root)).includes("started");
}

describe("a setting of the repository", () => {
  test.each([
    ["filter.odd.clean", "PROGRAM", "started"],
    ["filter.odd.process", "PROGRAM", "started"],
    ["diff.external", "PROGRAM", "started"],
    ["diff.odd.command", "PROGRAM", "started"],
    ["diff.odd.textconv", "PROGRAM", "started"],
    ["core.worktree", "../..", "elsewhere"],
    ["include.path", "../../evil.config", "elsewhere"],
    ["includeIf.gitdir:/.path", "../../evil.config", "elsewhere"],
    ["core.fsmonitor", "PROGRAM", "nothing"],
    ["core.hooksPath", "../", "nothing"],
    ["core.pager", "PROGRAM", "nothing"],
    ["pager.log", "PROGRAM", "nothing"],
    ["gpg.program", "PROGRAM", "nothing"],
    ["log.showSignature", "true", "nothing"],
    ["core.sshCommand", "PROGRAM", "nothing"],
    ["alias.status", "!PROGRAM", "nothing"],
    ["remote.origin.url", "ext::PROGRAM", "nothing"],
    ["branch.main.merge", "refs/heads/main", "nothing"],
  ])("%s = %s starts or leads to: %s", async (name, value, effect) => {
    const { root, folder, evil } = await repository();
    git(folder, "config", name, value.replace("PROGRAM", evil));
    const doubt = await findGitRisk(folder);
    expect(doubt === undefined, doubt).toBe(effect === "nothing");
    // What is doubted does harm without the doubt, and what is not doubted starts nothing.
    expect(await isStarted(root, folder)).toBe(effect === "started");
  });

  test.each([
    ["on the line of its section", '[filter "x"] clean = y'],
    ["in capital letters", '[FILTER "x"]\n\tCLEAN = y'],
    ["in the old spelling", "[filter.x]\n\tclean = y"],
    ["behind a value that goes on in the next line", '[filter "x"]\n\ta = b \\\n[core]\n\tclean = y'],
    ["behind a bracket in quotes", '[filter "x]"]\n\tclean = y'],
    ["without a value", "[filter]\n\tclean"],
    ["behind a byte order mark", "\uFEFF[filter]\n\tclean = y"],
  ])("is seen %s", async (_name, text) => {
    const { folder } = await repository();
    await writeFile(join(folder, ".git/config"), `${text}\n`);
    expect(await findGitRisk(folder)).toContain(".git/config");
  });

  test("is read as git reads it", async () => {
    const { folder } = await repository();
    git(folder, "remote", "add", "origin", "/x");
    git(folder, "config", "a.b c.d", 'e "f" # g');
    const listed = git(folder, "config", "--local", "--list", "--name-only").trim().split("\n");
    const parsed = parseGitConfig(await readFile(join(folder, ".git/config"), "utf8"));
    expect(parsed?.map(({ name }) => name)).toEqual(listed.map((name) => name.replace(/\..*\./, ".")));
  });
});

describe("a repository", () => {
  test("that a project holds as files is doubted", async () => {
    const root = await temporaryFolder();
    git(root, "init", "-q", "--bare", "bare");
    const [linked, hidden] = [join(root, "linked"), join(root, "hidden")];
    await mkdir(linked);
    await writeFile(join(linked, "HEAD"), "ref: refs/heads/main\n");
    await writeFile(join(linked, "commondir"), "../bare\n");
    await rename(join(root, "bare"), hidden);
    await mkdir(join(hidden, ".git"));
    await writeFile(join(linked, "commondir"), "../hidden\n");
    for (const folder of [linked, hidden, join(hidden, "objects")])
      expect(await findGitRisk(folder), folder).toBeDefined();
  });

  test("below another, a worktree, and a folder without one, are looked into where git looks", async () => {
    const { root, folder } = await repository();
    git(folder, "worktree", "add", "-q", join(root, "tree"));
    await mkdir(join(folder, "sub/deep"), { recursive: true });
    for (const at of [folder, join(folder, "sub/deep"), join(root, "tree"), root])
      expect(await findGitRisk(at)).toBeUndefined();
    git(folder, "config", "filter.x.clean", "y");
    for (const at of [folder, join(folder, "sub/deep"), join(root, "tree")])
      expect(await findGitRisk(at)).toBeDefined();
    git(join(folder, "sub"), "init", "-q");
    expect(await findGitRisk(join(folder, "sub/deep"))).toBeUndefined();
    await symlink(join(folder, ".git"), join(root, ".git"));
    expect(await findGitRisk(root)).toBeDefined();
  });

  test.each([["2"], ["4"]])(
    "with a submodule is doubted for the submodule's settings, index version %s",
    async (version) => {
      const { root, folder, evil } = await repository();
      const other = await repository();
      git(other.folder, "commit", "-q", "-a", "-m", "y");
      git(folder, "submodule", "add", "-q", other.folder, "a-link/sub");
      git(folder, "commit", "-q", "-m", "sub");
      git(folder, "update-index", "--index-version", version);
      expect(await findGitRisk(folder)).toBeUndefined();
      const config = join(folder, ".git/modules/a-link/sub/config");
      await appendFile(config, `[filter "odd"]\n\tclean = ${evil}\n`);
      await writeFile(join(folder, "a-link/sub/a"), "owt\n");
      expect(await findGitRisk(folder)).toContain("filter.clean");
      expect(await isStarted(root, folder)).toBe(true);
    },
  );

  test("whose index or settings can't be read is doubted", async () => {
    const { folder } = await repository();
    git(folder, "update-index", "--split-index");
    expect(await findGitRisk(folder)).toContain("index");
    git(folder, "update-index", "--no-split-index");
    expect(await findGitRisk(folder)).toBeUndefined();
    await writeFile(join(folder, ".git/config"), "[core\n");
    expect(await findGitRisk(folder)).toContain("config");
  });

  test("of the newer hash is looked into", async () => {
    const root = await temporaryFolder();
    git(root, "init", "-q", "--object-format=sha256");
    await writeFile(join(root, "a"), "");
    git(root, "add", ".");
    expect(await findGitRisk(root)).toBeUndefined();
  });
});
