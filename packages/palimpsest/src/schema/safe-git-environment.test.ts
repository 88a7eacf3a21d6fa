import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { safeDiffOptions, safeGitEnvironment } from "./safe-git-environment.ts";

interface HostileRepository {
  readonly folder: string;
  /** Files left by programs that were started. */
  readonly trace: string;
}

/** Every setting that starts a program while git only reads leaves a file named after itself. */
async function hostileRepository(): Promise<HostileRepository> {
  const root = await temporaryFolder();
  const folder = join(root, "project");
  const trace = join(root, "trace");
  await mkdir(folder);
  await mkdir(trace);
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: "pipe", env: plainEnvironment() });
  git("init", "-q");
  await writeFile(join(folder, "a.txt"), "one\n");
  await writeFile(join(folder, ".gitattributes"), "*.txt diff=odd\n");
  git("add", ".");
  git("-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first");
  const signed = git("cat-file", "commit", "HEAD").replace(
    "\n\n",
    "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
  );
  const id = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], { cwd: folder, input: signed });
  git("update-ref", "HEAD", id.toString().trim());
  await writeFile(join(folder, "a.txt"), "two\n");
  const hook = join(folder, ".git", "hooks", "post-index-change");
  await mkdir(join(folder, ".git", "hooks"), { recursive: true });
  await writeFile(hook, `#!/bin/sh\ntouch ${trace}/hook\n`);
  await chmod(hook, 0o755);
  const run = (name: string): string => `touch ${trace}/${name};:`;
  git("config", "core.fsmonitor", run("fsmonitor"));
  git("config", "diff.external", run("external"));
  git("config", "diff.odd.textconv", run("textconv"));
  git("config", "log.showSignature", "true");
  const gpg = join(root, "gpg");
  await writeFile(gpg, `#!/bin/sh\ntouch ${trace}/gpg\n`);
  await chmod(gpg, 0o755);
  git("config", "gpg.program", gpg);
  for (const name of await readdir(trace)) await rm(join(trace, name));
  return { folder, trace };
}

const plainEnvironment = (): Record<string, string> => ({ PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" });

/** Reading commands; the file is touched so that git has to look at it again. */
async function readAll({ folder, trace }: HostileRepository, env: Record<string, string>): Promise<readonly string[]> {
  for (const args of [
    ["status"],
    ["diff", ...safeDiffOptions],
    ["log", "-p", ...safeDiffOptions],
    ["ls-files", "-m"],
  ]) {
    await writeFile(join(folder, "a.txt"), `two ${args[0]}\n`);
    execFileSync("git", [...args], { cwd: folder, env, stdio: "ignore" });
  }
  return (await readdir(trace)).toSorted();
}

describe("safeGitEnvironment", () => {
  test("a repository's own settings start no program", async () => {
    const repository = await hostileRepository();
    expect(await readAll(repository, safeGitEnvironment(plainEnvironment()))).toEqual([]);
    // The same commands without it: the test can fail.
    expect(await readAll(repository, plainEnvironment())).toEqual(["fsmonitor", "gpg", "hook"]);
  });

  test("safeDiffOptions turn off what a diff would start", async () => {
    const { folder, trace } = await hostileRepository();
    const env = safeGitEnvironment(plainEnvironment());
    execFileSync("git", ["diff", ...safeDiffOptions], { cwd: folder, env, stdio: "ignore" });
    expect(await readdir(trace)).toEqual([]);
    execFileSync("git", ["diff"], { cwd: folder, env, stdio: "ignore" });
    execFileSync("git", ["log", "-p"], { cwd: folder, env, stdio: "ignore" });
    expect((await readdir(trace)).toSorted()).toEqual(["external", "textconv"]);
  });

  test("a folder that looks like the inside of a repository is none", async () => {
    const folder = await temporaryFolder();
    execFileSync("git", ["init", "-q", "--bare", folder]);
    const read = (env: Record<string, string>): string =>
      execFileSync("git", ["rev-parse", "--git-dir"], { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
    expect(() => read(safeGitEnvironment(plainEnvironment()))).toThrow(/bare repository/);
    expect(read(plainEnvironment())).toBe(".\n");
  });

  test("variables that name another repository, a program or settings are dropped", () => {
    const env = safeGitEnvironment({
      HOME: "/home/u",
      GIT_DIR: "/elsewhere",
      GIT_EXTERNAL_DIFF: "evil",
      GIT_CONFIG_PARAMETERS: "'core.pager'='evil'",
      GIT_CONFIG_GLOBAL: "/home/u/own",
    });
    expect(env).toMatchObject({ HOME: "/home/u", GIT_CONFIG_GLOBAL: "/home/u/own", GIT_PAGER: "cat" });
    expect(Object.keys(env)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^GIT_(DIR|EXTERNAL_DIFF|CONFIG_PARAMETERS)$/)]),
    );
  });

  test("nothing is fetched for a repository that lacks objects", async () => {
    const { folder, trace } = await hostileRepository();
    const plain = plainEnvironment();
    const set = (key: string, value: string): Buffer => execFileSync("git", ["config", key, value], { cwd: folder });
    set("extensions.partialClone", "origin");
    set("remote.origin.promisor", "true");
    set("remote.origin.url", `ext::sh -c touch% ${trace}/fetched`);
    set("protocol.ext.allow", "always");
    const show = (env: Record<string, string>): void => {
      try {
        execFileSync("git", ["cat-file", "-p", "1".repeat(40)], { cwd: folder, env, stdio: "ignore" });
      } catch {
        // The object is not there either way.
      }
    };
    show(safeGitEnvironment(plain));
    expect(await readdir(trace)).toEqual([]);
    show(plain);
    expect(await readdir(trace)).toContain("fetched");
  });
});
