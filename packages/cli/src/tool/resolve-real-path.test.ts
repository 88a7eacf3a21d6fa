import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { realRoots, resolveRealPath, isSpecialPath, isInside } from "./resolve-real-path.ts";

async function scene(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "project/src"), { recursive: true });
  await mkdir(join(folder, "outside"));
  await writeFile(join(folder, "outside/secret"), "");
  await symlink("../outside", join(folder, "project/out"));
  await symlink("src", join(folder, "project/in"));
  await symlink("../outside/new", join(folder, "project/dangling"));
  await symlink("dangling", join(folder, "project/twice"));
  await symlink("loop", join(folder, "project/loop"));
  return folder;
}

describe("a real path", () => {
  test.each([
    ["a file", "src/a.ts", "project/src/a.ts"],
    ["folders that are not there", "x/y/z.ts", "project/x/y/z.ts"],
    ["..", "../outside/secret", "outside/secret"],
    [".. through what is not there", "x/../../outside/secret", "outside/secret"],
    [".. through a link", "out/../x", "x"],
    [".. through a link to what is not there", "dangling/../x", "outside/x"],
    ["a link to a folder inside", "in/a.ts", "project/src/a.ts"],
    ["a link to a folder outside", "out/secret", "outside/secret"],
    ["a new file in a linked folder", "out/a/b", "outside/a/b"],
    ["a link to what is not there", "dangling", "outside/new"],
    ["a link to such a link", "twice", "outside/new"],
    ["a path through such a link", "dangling/a", "outside/new/a"],
  ])("%s: %s", async (_name, named, expected) => {
    const folder = await scene();
    expect(await resolveRealPath(named, join(folder, "project"))).toMatchObject({
      kind: "real",
      path: join(folder, expected),
    });
  });

  test.each([
    ["links in a circle", "loop"],
    ["a NUL", "src\0/../../x"],
    ["nothing", ""],
    ["a file as a folder", "../outside/secret/x"],
  ])("refused: %s", async (_name, named) => {
    const folder = await scene();
    expect(await resolveRealPath(named, join(folder, "project"))).toMatchObject({ kind: "refused" });
  });

  test("roots are real paths, and one that is not there is none", async () => {
    const folder = await scene();
    const project = join(folder, "project");
    expect(await realRoots([project, join(project, "out"), join(project, "none")])).toEqual([
      project,
      join(folder, "outside"),
    ]);
  });
});

test.each([
  ["/a/b", "/a", true],
  ["/a", "/a", true],
  ["/ab", "/a", false],
  ["/A/b", "/a", false],
  ["/", "/a", false],
  ["/a", "/", true],
])("%s is inside %s: %s", (path, root, expected) => {
  expect(isInside(path, root)).toBe(expected);
});

test.each(["/proc/1/environ", "/dev/tty", "/sys/x", "/proc"])("%s is no ordinary file", (path) => {
  expect(isSpecialPath(path)).toBe(true);
});

test("/processes is", () => {
  expect(isSpecialPath("/processes")).toBe(false);
});
