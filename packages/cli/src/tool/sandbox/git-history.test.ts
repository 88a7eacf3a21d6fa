import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GitHistory } from "./git-history.ts";

const env = { PATH: process.env["PATH"], HOME: "/nonexistent" };

/** A repository whose only commit held `secret/key`, which is gone from the folder. */
async function repositoryWithSecret() {
  const root = await realpath(await mkdtemp(join(tmpdir(), "history-")));
  const git = (...args: readonly string[]): void =>
    void execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { env });
  git("init", "-q");
  await mkdir(join(root, "secret"));
  await writeFile(join(root, "secret/key"), "TOP");
  git("add", ".");
  git("commit", "-qm", "first");
  git("rm", "-q", "secret/key");
  git("commit", "-qm", "second");
  const holds = (...patterns: readonly string[]): Promise<boolean> =>
    new GitHistory(env).holds({ root, repository: join(root, ".git"), patterns, roots: [root], home: "/home/ann" });
  return { root, git, holds };
}

test("a repository holds a hidden file that any commit held, though the folder has it no more", async () => {
  const { holds } = await repositoryWithSecret();
  expect(await holds("./secret/**")).toBe(true);
  expect(await holds("./other/**")).toBe(false);
  expect(await holds("./other/**", "./secret/key")).toBe(true);
});

test("what can't be told counts as held", async () => {
  const { root, holds } = await repositoryWithSecret();
  await rm(join(root, ".git/HEAD"));
  expect(await holds("./other/**")).toBe(true);
});

test("is asked again when something was committed since", async () => {
  const { root, git } = await repositoryWithSecret();
  const history = new GitHistory(env);
  const question = { root, repository: join(root, ".git"), patterns: ["./later"], roots: [root], home: "/home/ann" };
  expect(await history.holds(question)).toBe(false);
  await writeFile(join(root, "later"), "x");
  git("add", ".");
  git("commit", "-qm", "third");
  expect(await history.holds(question)).toBe(true);
});
