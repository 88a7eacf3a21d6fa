import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";
import { optionNames, respelledCommand } from "../../../../../test/support/attacks/respelled-commands.ts";
import { findShell } from "./bash-tool.ts";

/** Lines that are run to see that the generator makes attacks. */
const attacksMin = 15;

test("no line that changes a file counts as read-only, whatever files its patterns find", async () => {
  const shell = await findShell();
  const box = await toolbox();
  const { project } = box;
  const names = [...optionNames, "a", "b", "one/b1", "one/b2"];
  const restore = async (): Promise<void> => {
    for (const name of readdirSync(project)) if (name !== ".git") await rm(join(project, name), { recursive: true });
    await rm(join(project, ".git/refs/heads/evil"), { force: true });
    await mkdir(join(project, "one"));
    for (const name of names) await writeFile(join(project, name), "x\nx\n");
  };
  await restore();
  const author = ["-c", "user.name=n", "-c", "user.email=e"];
  for (const args of [
    ["init", "-q", "--template="],
    ["add", "a"],
    [...author, "commit", "-qm", "x"],
  ])
    execFileSync("git", args, { cwd: project });
  const state = (): string => {
    const found = readdirSync(project, { recursive: true, encoding: "utf8" }).filter(
      (name) => !/^\.git\/(?!refs)/.test(name),
    );
    return found
      .map((name) => (names.includes(name) ? `${name} ${readFileSync(join(project, name), "utf8")}` : name))
      .join("\n");
  };
  const before = state();
  const isChanging = async (line: string): Promise<boolean> => {
    try {
      execFileSync(shell.path, ["-c", line], { cwd: project, stdio: "ignore", timeout: 5_000 });
    } catch {
      // Its exit code does not matter.
    }
    if (state() === before) return false;
    await restore();
    return true;
  };
  let attacks = 0;
  await fc.assert(
    fc.asyncProperty(respelledCommand(), async (line) => {
      const [act] = await box.acts("bash", { command: line });
      const isReadOnly = act?.kind === "shell" && act.effect === "read-only";
      if (!isReadOnly && attacks >= attacksMin) return;
      if (!(await isChanging(line))) return;
      expect(isReadOnly, line).toBe(false);
      attacks += 1;
    }),
    { numRuns: 500 },
  );
  expect(attacks).toBe(attacksMin);
});
