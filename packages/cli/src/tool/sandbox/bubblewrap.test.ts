import { spawnSync } from "node:child_process";
import { mkdir, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sandboxHere } from "../../../../../test/fixture/sandbox.ts";
import { needsBubblewrap, noBubblewrap } from "../../../../../test/fixture/sandbox-available.ts";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";

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
