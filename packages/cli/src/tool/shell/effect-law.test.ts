import { execFileSync } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { analyzeEffect } from "./analyze-effect.ts";
import { findShell } from "./bash-tool.ts";

/** Quotes, substitutions and separators in any order, around a command that leaves a trace. */
const pieces = fc.array(
  fc.constantFrom(
    "touch evil",
    "touch evil",
    "ls",
    "echo",
    "cat",
    " ",
    " ",
    "\n",
    ";",
    "&&",
    "|",
    "'",
    '"',
    "`",
    "$(",
    ")",
    "\\",
    "#",
    "<<E",
    "<<'E'",
    "\nE\n",
    "<<<",
    "{",
    "}",
    "(",
    "$'",
    "\\'",
    "> evil",
    ">",
    "/dev/null",
    "2>&1",
    "!",
    "$",
    "${",
    "x",
  ),
  { minLength: 2, maxLength: 14 },
);

test("a line that counts as read-only leaves no trace when bash runs it", async () => {
  const shell = await findShell();
  const cwd = await temporaryFolder();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(pieces, async (parts) => {
      const command = parts.join("");
      if (!command.includes("evil") || analyzeEffect(command).kind !== "read-only") return;
      run += 1;
      try {
        execFileSync(shell.path, ["-c", command], { cwd, stdio: "ignore", timeout: 5_000 });
      } catch {
        // Its exit code does not matter.
      }
      const left = await readdir(cwd);
      for (const name of left) await rm(join(cwd, name), { force: true });
      expect(left, command).toEqual([]);
    }),
    { numRuns: 4_000 },
  );
  expect(run).toBeGreaterThan(5);
});
