import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../test/contract/temporary-folder.ts";
import { placeOf, rootCommits } from "./repository.ts";

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
  expect(await rootCommits(await placeOf(folder))).toEqual([root]);
  expect(await readdir(trace)).toEqual([]);
});

test("a commit that is missing is not fetched by a transport of the repository's settings", async () => {
  const { folder, trace, root } = await hostileRepository();
  await rm(join(folder, ".git", "objects", root.slice(0, 2), root.slice(2)));
  expect(await rootCommits(await placeOf(folder))).toBeUndefined();
  expect(await readdir(trace)).toEqual([]);
  // Plain git does fetch: the test can fail.
  try {
    execFileSync("git", ["rev-list", "HEAD"], { cwd: folder, stdio: "ignore" });
  } catch {
    // There is nothing to fetch from.
  }
  expect(await readdir(trace)).toEqual(["fetched"]);
});
