import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { instructionFiles } from "./instruction-files.ts";
import type { InstructionPlace } from "./load-instruction-file.ts";
import { loadInstructions } from "./load-instructions.ts";
import { foldersToward, loadNestedInstructions, type NestedSource } from "./load-nested-instructions.ts";

describe("the folders on the way to a file", () => {
  const place = { root: "/p", cwd: "/p/app" };

  it.each([
    ["below the working directory", "/p/app/src/deep/a.ts", ["/p/app/src", "/p/app/src/deep"]],
    ["in the working directory", "/p/app/a.ts", []],
    ["beside it, in the project", "/p/lib/x/a.ts", ["/p/lib", "/p/lib/x"]],
    ["above it, in the project", "/p/a.ts", []],
    ["outside of the project", "/q/x/a.ts", []],
    ["of a package that was installed", "/p/app/node_modules/x/a.js", []],
    ["of git's own", "/p/.git/hooks/a", []],
  ])("that lies %s", (_, file, folders) => {
    expect(foldersToward(place, file)).toEqual(folders);
  });

  it("that lies in a working directory outside of the project's root", () => {
    expect(foldersToward({ root: "/p", cwd: "/q" }, "/q/x/a.ts")).toEqual(["/q/x"]);
  });
});

describe("instructions that a touched file brings in", () => {
  async function project(textByPath: Readonly<Record<string, string>>) {
    const root = await realpath(await mkdtemp(join(tmpdir(), "nested-")));
    for (const [path, text] of Object.entries(textByPath)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const place: InstructionPlace = {
      root,
      cwd: root,
      home: "/nowhere",
      managedFolders: [],
      userFolders: [],
      trust: "trusted",
      importAnswers: new Map(),
      excludes: [],
      foreign: [],
      named: [],
    };
    const load = async (touched: readonly string[], again: readonly NestedSource[] = []) => {
      const start = await loadInstructions(instructionFiles, place);
      const paths = touched.map((path) => join(root, path));
      const { files, problems } = await loadNestedInstructions(instructionFiles, {
        place,
        start,
        touched: paths,
        again,
      });
      return { words: files.map(({ text }) => text), files, problems };
    };
    return { root, load };
  }

  it("come broad before narrow, folders before rules, each once whatever number of files asks for it", async () => {
    const { load } = await project({
      "CLAUDE.md": "root",
      "a/CLAUDE.md": "a",
      "a/b/AGENTS.md": "b",
      "c/CLAUDE.md": "c",
      ".claude/rules/r.md": "---\npaths: a/**\n---\nrule",
    });
    expect((await load(["a/b/1.ts", "a/b/2.ts", "a/3.ts"])).words).toEqual(["a", "b", "rule"]);
    expect((await load([])).words).toEqual([]);
  });

  it("are not loaded if the session started with them, even by an import", async () => {
    const { load } = await project({
      "CLAUDE.md": "see @./a/CLAUDE.md",
      "a/CLAUDE.md": "a",
      "a/CLAUDE.local.md": "mine",
    });
    expect((await load(["a/1.ts"])).words).toEqual(["mine"]);
  });

  it("say what brought them in", async () => {
    const { load, root } = await project({ "a/CLAUDE.md": "a @./b.md", "a/b.md": "b" });
    const { files } = await load(["a/1.ts"]);
    const source = { kind: "folder", folder: join(root, "a") };
    expect(files).toMatchObject([
      { source, trigger: join(root, "a", "1.ts") },
      { source, importedBy: join(root, "a", "CLAUDE.md") },
    ]);
  });

  it("are loaded again from where they came, without the file that brought them in", async () => {
    const { load, root } = await project({
      "a/CLAUDE.md": "a",
      ".claude/rules/r.md": "---\npaths: x/**\n---\nrule",
      ".claude/rules/s.md": "---\npaths: x/**\n---\nother",
    });
    const again: readonly NestedSource[] = [
      { kind: "folder", folder: join(root, "a") },
      { kind: "rule", rule: join(root, ".claude", "rules", "r.md") },
    ];
    const { words, files } = await load([], again);
    expect(words).toEqual(["a", "rule"]);
    expect(files.some((file) => "trigger" in file)).toBe(false);
  });
});
