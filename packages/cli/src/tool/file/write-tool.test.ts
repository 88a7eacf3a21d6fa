import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolbox } from "../../../../../test/fixture/toolbox.ts";

describe("write", () => {
  test("creates a file and its folders, leaving nothing else behind", async () => {
    const box = await toolbox();
    const wrote = await box.call("write", { file_path: "a/b/c.txt", content: "hé" });
    expect(wrote.text).toBe(`Created ${join(box.project, "a/b/c.txt")} (3 bytes).`);
    expect(await readFile(join(box.project, "a/b/c.txt"), "utf8")).toBe("hé");
    expect(await readdir(join(box.project, "a/b"))).toEqual(["c.txt"]);
  });

  test("replaces only a file that was read, in the state it was read in", async () => {
    const box = await toolbox();
    const path = join(box.project, "a.txt");
    await writeFile(path, "old");
    const unread = await box.call("write", { file_path: "a.txt", content: "new" });
    expect(unread).toMatchObject({ isError: true, text: expect.stringContaining("read it first") as unknown });
    await box.call("read", { path: "a.txt" });
    await writeFile(path, "changed by someone");
    const changed = await box.call("write", { file_path: "a.txt", content: "new" });
    expect(changed).toMatchObject({
      isError: true,
      text: expect.stringContaining("changed since you read it") as unknown,
    });
    expect(await readFile(path, "utf8")).toBe("changed by someone");
    await box.call("read", { path: "a.txt" });
    expect((await box.call("write", { file_path: "a.txt", content: "new" })).text).toContain("Updated");
    expect((await box.call("write", { file_path: "a.txt", content: "newer" })).text).toContain("Updated");
    expect(await readFile(path, "utf8")).toBe("newer");
  });

  test("keeps the mode of the file it replaces", async () => {
    const box = await toolbox();
    const path = join(box.project, "run.sh");
    await writeFile(path, "#!/bin/sh\n");
    await chmod(path, 0o751);
    await box.call("read", { path: "run.sh" });
    await box.call("write", { file_path: "run.sh", content: "#!/bin/sh\necho\n" });
    expect((await stat(path)).mode & 0o777).toBe(0o751);
  });

  test("writes through a link to the file it leads to, inside the project", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, "real"));
    await symlink("real", join(box.project, "link"));
    expect((await box.call("write", { file_path: "link/a.txt", content: "x" })).text).toContain("real/a.txt");
    expect(await box.acts("write", { file_path: "link/a.txt", content: "x" })).toEqual([
      { kind: "write", path: join(box.project, "real/a.txt") },
    ]);
  });

  test("says that a folder is a folder", async () => {
    const box = await toolbox();
    await mkdir(join(box.project, "folder"));
    const wrote = await box.call("write", { file_path: "folder", content: "x" });
    expect(wrote).toMatchObject({ isError: true, text: expect.stringContaining("this is a folder") as unknown });
  });
});
