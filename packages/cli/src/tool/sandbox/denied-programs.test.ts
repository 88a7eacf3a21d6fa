import { chmod, link, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { parseRules } from "../permission/rule.ts";
import { DeniedPrograms } from "./denied-programs.ts";

/** A folder on PATH with a program, another name of the same file, and a link to it. */
async function programs() {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "deploy-2"), "#!/bin/sh\n");
  await chmod(join(folder, "deploy-2"), 0o755);
  await link(join(folder, "deploy-2"), join(folder, "twin"));
  await symlink("deploy-2", join(folder, "deploy"));
  const hidden = (rule: string, needed: readonly string[] = []): readonly string[] =>
    new DeniedPrograms()
      .find({ rules: parseRules({ deny: [rule] }).rules.deny, path: `relative:${folder}`, needed })
      .filter((path) => path.startsWith(folder))
      .map((path) => path.slice(folder.length + 1))
      .toSorted();
  return { folder, hidden };
}

test("a rule for a whole program hides its file, under all of its names", async () => {
  const { folder, hidden } = await programs();
  for (const rule of ["Bash(deploy:*)", "Bash(deploy *)", `Bash(${folder}/deploy:*)`])
    expect(hidden(rule), rule).toEqual(["deploy-2", "twin"]);
});

test("a rule for some of its arguments, for a project's own script or for every command hides nothing", async () => {
  const { hidden } = await programs();
  for (const rule of ["Bash(deploy now:*)", "Bash(deploy)", "Bash(./deploy:*)", "Bash", "Read(deploy)"])
    expect(hidden(rule), rule).toEqual([]);
});

test("what the command itself is started with stays", async () => {
  const { folder, hidden } = await programs();
  expect(hidden("Bash(deploy:*)", [join(folder, "deploy")])).toEqual([]);
});
