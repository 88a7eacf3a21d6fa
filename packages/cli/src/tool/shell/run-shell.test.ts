import { mkdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { millis } from "palimpsest/internal/schema/brand";
import { runShell } from "./run-shell.ts";

test.each(["/bin/bash", "/bin/sh"])(
  "%s tells its end and its folder, and leaves descriptor 3 to the command",
  async (shell) => {
    const cwd = await realpath(await temporaryFolder());
    await mkdir(join(cwd, "a"));
    const run = { shell, cwd, env: { PATH: process.env["PATH"] ?? "" }, timeoutMs: millis(20_000) };
    const { signal } = new AbortController();
    for (const last of ["(exit 3)", "exit 3"]) {
      const command = `exec 3>log.txt; echo hi >&3; cd a; ${last}`;
      expect(await runShell({ ...run, command, signal })).toEqual({
        how: { kind: "exited", code: 3 },
        output: "",
        leftOutBytes: 0,
        folder: join(cwd, "a"),
        leftRunning: "none",
      });
      expect(await readFile(join(cwd, "log.txt"), "utf8")).toBe("hi\n");
    }
  },
);
