import { spawnSync } from "node:child_process";
import { mkdir, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sandboxHere } from "../../../../../test/fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../../../../../test/fixture/sandbox-available.ts";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { existsSync, readFileSync } from "node:fs";
import { startWithMountCheck } from "./bubblewrap.ts";

describe.skipIf(noBubblewrap)(`a start: ${needsBubblewrap("in a sandbox")}`, () => {
  test("is refused where a folder was swapped for a link since it was looked at, and nothing is written there", async () => {
    const folder = await temporaryFolder();
    const [project, outside, temporary] = [join(folder, "project"), join(folder, "outside"), join(folder, "temporary")];
    await Promise.all([mkdir(join(project, "sub"), { recursive: true }), mkdir(outside), mkdir(temporary)]);
    await Promise.all([writeFile(join(project, "sub/.env"), ""), writeFile(join(outside, ".env"), "")]);
    const limits: SandboxLimits = {
      strength: "workspace",
      writable: [project],
      protected: [],
      hidden: [join(project, "sub/.env")],
      shown: [project, outside],
      temporary,
      network: { kind: "off" },
    };
    const sandbox = await sandboxHere();
    const inner = { program: "/bin/sh", args: ["-c", `echo x > ${outside}/made; echo ran`], cwd: project, env: {} };
    const run = async (beforeStart: () => Promise<void>): Promise<string> => {
      const entry = await sandbox.enter(inner, limits);
      if (entry.kind !== "ready") throw new Error(entry.why);
      await beforeStart();
      const { program, args, cwd, env } = entry.start;
      const { stdout } = spawnSync(program, [...args], { cwd, env, encoding: "utf8" });
      await entry.leave();
      return stdout;
    };
    expect(await run(() => Promise.resolve())).toBe("ran\n");
    expect(
      await run(async () => {
        await rename(join(project, "sub"), join(project, "moved"));
        await symlink("../outside", join(project, "sub"));
      }),
    ).toBe("");
    expect(await readdir(outside)).toEqual([".env"]);
  });
});

const inner = { program: "/bin/echo", args: ["ran", "a b"], cwd: "/", env: {} };

test("a program without mounts that others could move is started as it is", () => {
  expect(startWithMountCheck(inner, { points: ["/p/.git", "/home/ann/.ssh"], folders: ["/p"] })).toBe(inner);
});

/** Some mount of this machine below a folder that is none of the root's own. */
const mounted = (existsSync("/proc/self/mountinfo") ? readFileSync("/proc/self/mountinfo", "utf8") : "")
  .split("\n")
  .map((line) => line.split(" ")[4] ?? "")
  .find((point) => /^\/[^/\\]+\/[^\\]+$/.test(point));

test.skipIf(mounted === undefined).each([
  ["where its mounts are where they were meant to be", [], "ran a b\n", 0],
  ["not where one is missing", ["/dev/no such\\mount"], "", 126],
])("a program is started %s", (_, more, stdout, status) => {
  const points = [mounted ?? "", ...more];
  const { program, args } = startWithMountCheck(inner, { points, folders: ["/"] });
  const ended = spawnSync(program, [...args], { encoding: "utf8" });
  expect(ended).toMatchObject({ stdout, status });
});
