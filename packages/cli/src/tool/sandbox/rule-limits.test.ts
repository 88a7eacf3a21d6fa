import { chmod, mkdir, symlink, utimes, writeFile, link } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { findDeniedPaths, DeniedPrograms } from "./rule-limits.ts";
import { FolderNameCache } from "./folder-scanner.ts";
import { parseRules } from "../permission/rule.ts";

async function disk() {
  const top = await temporaryFolder();
  const [root, home] = [join(top, "project"), join(top, "home")];
  for (const folder of [`${root}/secret/deep`, `${root}/src/SECRET`, `${root}/.git/objects`, `${home}/notes`])
    await mkdir(folder, { recursive: true });
  for (const file of [
    ".env",
    "src/.ENV",
    "src/a.pem",
    "src/a.txt",
    "secret/x",
    "secret/deep/y.pem",
    ".git/objects/a.pem",
  ])
    await writeFile(join(root, file), "");
  await writeFile(join(home, "notes/a.md"), "");
  const names = new FolderNameCache();
  const find = async (pattern: string | undefined) => {
    const found = await findDeniedPaths({ names }, { pattern, roots: [root], home });
    if (found.kind === "too-many") return found;
    const short = (paths: readonly string[]) => paths.map((path) => path.replace(`${top}/`, "")).toSorted();
    return found.missing.length === 0
      ? short(found.paths)
      : { found: short(found.paths), missing: short(found.missing) };
  };
  return { top, root, home, find };
}

test("names what a rule is for, in every spelling, a folder as a whole", async () => {
  const { top, find } = await disk();
  expect(await find(".env")).toEqual(["project/.env", "project/src/.ENV"]);
  expect(await find("./.env")).toEqual(["project/.env"]);
  expect(await find("secret/**")).toEqual(["project/secret"]);
  expect(await find("./Secret/deep/")).toEqual(["project/secret/deep"]);
  expect(await find("secret")).toEqual(["project/secret", "project/src/SECRET"]);
  expect(await find("*.pem")).toEqual(["project/secret/deep/y.pem", "project/src/a.pem"]);
  expect(await find("./src/*.pem")).toEqual(["project/src/a.pem"]);
  expect(await find("{secret/deep,src}/*.{pem,txt}")).toEqual([
    "project/secret/deep/y.pem",
    "project/src/a.pem",
    "project/src/a.txt",
  ]);
  expect(await find("~/notes/**")).toEqual(["home/notes"]);
  expect(await find(`/${top}/home/notes/a.md`)).toEqual(["home/notes/a.md"]);
  expect(await find("./none/here")).toEqual({ found: [], missing: ["project/none/here"] });
  expect(await find(undefined)).toEqual(["/"]);
});

test("a link of such a name leads to what is meant", async () => {
  const { root, find } = await disk();
  await symlink("../../home/notes/a.md", join(root, "src/b.pem"));
  expect(await find("./src/*.pem")).toEqual(["home/notes/a.md", "project/src/a.pem"]);
});

test("sees what came to be since the last look, though its folder claims to be old", async () => {
  const { root, find } = await disk();
  const folder = join(root, "src");
  expect(await find("*.key")).toEqual([]);
  await writeFile(join(folder, "new.key"), "");
  const old = new Date(2020, 1, 1);
  await utimes(folder, old, old);
  expect(await find("*.key")).toEqual(["project/src/new.key"]);
});

// Root reads every folder.
test.skipIf(process.getuid?.() === 0)("a folder that can't be listed is held as a whole", async () => {
  const { root, find } = await disk();
  await chmod(join(root, "src"), 0o100);
  expect(await find("*.pem")).toEqual(["project/secret/deep/y.pem", "project/src"]);
  await chmod(join(root, "src"), 0o700);
});

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
