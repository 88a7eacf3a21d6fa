import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Toolbox, toolbox, type ToolboxOptions } from "../../../../../test/fixture/toolbox.ts";

async function project(files: Readonly<Record<string, string>>, options: ToolboxOptions = {}): Promise<Toolbox> {
  const box = await toolbox(options);
  for (const [index, [name, content]] of Object.entries(files).entries()) {
    const path = join(box.project, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    await utimes(path, 1_000 + index, 1_000 + index);
  }
  return box;
}

const files = {
  ".gitignore": "out/\n",
  "a.ts": "one\ntwo\nthree\nTWO two\n",
  "b.md": "two\n",
  "src/c.ts": "nothing\n",
  "src/deep/d.ts": "x two\n",
  "out/e.ts": "two\n",
  ".git/config": "two\n",
  ".github/f.yml": "two\n",
};

describe("grep", () => {
  test.each([
    ["files by default, without what is ignored", {}, ".github/f.yml\na.ts\nb.md\nsrc/deep/d.ts"],
    ["a glob for names anywhere", { glob: "*.ts" }, "a.ts\nsrc/deep/d.ts"],
    ["a glob for paths", { glob: "src/**/*.ts" }, "src/deep/d.ts"],
    ["a glob does not bring back what is ignored", { glob: "out/**" }, "Nothing found."],
    ["a type", { type: "md" }, "b.md"],
    ["a folder", { path: "src" }, "src/deep/d.ts"],
    ["a file", { path: "a.ts", output: "content" }, "a.ts:2:two\na.ts:4:TWO two"],
    ["counts", { output: "count", glob: "*.ts" }, "a.ts: 2\nsrc/deep/d.ts: 1"],
    [
      "content with context",
      { path: "a.ts", output: "content", context: 1 },
      "a.ts-1-one\na.ts:2:two\na.ts-3-three\na.ts:4:TWO two",
    ],
    ["any case", { pattern: "THREE", case: "insensitive" }, "a.ts"],
    ["over line breaks", { pattern: "one.two", multiline: true, output: "content" }, "a.ts:1:one\na.ts:2:two"],
    ["nothing", { pattern: "absent" }, "Nothing found."],
    [
      "a limit",
      { output: "content", head_limit: 2 },
      ".github/f.yml:1:two\na.ts:2:two\n(only the first 2; narrow the search or raise head_limit)",
    ],
  ])("%s", async (_name, input, expected) => {
    const box = await project(files);
    expect((await box.call("grep", { pattern: "two", ...input })).text).toBe(expected);
  });

  test("leaves out what is ignored where there is no repository, too", async () => {
    const box = await project({ ".gitignore": "out/\n", "out/a.ts": "two\n", "b.ts": "two\n" });
    expect((await box.call("grep", { pattern: "two" })).text).toBe("b.ts");
  });

  test("takes a pattern that looks like an option or a command as a pattern", async () => {
    const box = await project({ "a.txt": "--files\n$(touch evil); x\n" });
    expect((await box.call("grep", { pattern: "--files" })).text).toBe("a.txt");
    expect((await box.call("grep", { pattern: "\\$\\(touch evil\\);" })).text).toBe("a.txt");
    expect((await box.call("grep", { pattern: "x", type: "all --pre=touch" })).kind).toBe("ran");
    expect((await box.call("glob", { pattern: "evil" })).text).toBe("No files found.");
  });

  test("tells a wrong pattern to the model", async () => {
    const box = await project(files);
    expect(await box.call("grep", { pattern: "(" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("unclosed") as unknown,
    });
  });

  test("shows no file that a rule hides, and follows no link out of the project", async () => {
    const box = await project({ ...files, ".env": "two\n" }, { deny: ["Read(.env)"] });
    await writeFile(join(box.outside, "s.ts"), "two\n");
    await symlink(box.outside, join(box.project, "link"));
    await symlink(join(box.outside, "s.ts"), join(box.project, "s.ts"));
    const found = (await box.call("grep", { pattern: "two", output: "content" })).text;
    expect(found).not.toMatch(/\.env|link|s\.ts:1.*\n.*s\.ts/);
    expect(found.split("\n")).toHaveLength(5);
    expect((await box.call("glob", { pattern: ".env" })).text).toBe("No files found.");
  });
});

describe("glob", () => {
  test.each([
    ["*.ts", "src/deep/d.ts\nsrc/c.ts\na.ts"],
    ["src/*.ts", "src/c.ts"],
    ["**/*.{md,yml}", ".github/f.yml\nb.md"],
    ["out/*", "No files found."],
    [".git/*", "No files found."],
  ])("%s, newest first", async (pattern, expected) => {
    const box = await project(files);
    expect((await box.call("glob", { pattern })).text).toBe(expected);
  });

  test("looks in another folder and names paths from the working directory", async () => {
    const box = await project(files);
    expect((await box.call("glob", { pattern: "*.ts", path: "src" })).text).toBe("src/deep/d.ts\nsrc/c.ts");
    expect((await box.call("glob", { pattern: `${box.project}/src/*.ts` })).text).toBe("src/c.ts");
  });

  test("says how many more there are", async () => {
    const box = await project(Object.fromEntries(Array.from({ length: 103 }, (_, index) => [`f${index}.txt`, ""])));
    const lines = (await box.call("glob", { pattern: "*.txt" })).text.split("\n");
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe("(3 more; narrow the pattern)");
  });
});
