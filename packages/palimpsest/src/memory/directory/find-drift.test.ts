import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { cpuMillis } from "../../../../../test/fixture/cpu-millis.ts";
import type { WorkingTree } from "../../ports/working-tree.ts";
import { millis } from "../../schema/brand.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { memoryMemories } from "../../store/memory/memory-memories.ts";
import { fileWorkingTree } from "../../store/files/file-working-tree.ts";
import { DriftCheck, findDrift, findNamedThings } from "./find-drift.ts";

const repository = resolve(import.meta.dirname, "../../../../..");
const tree = fileWorkingTree({
  deps: { now: () => millis(0) },
  root: repository,
  programFolders: resolve(process.execPath, ".."),
});

const names = (text: string): readonly string[] => findNamedThings(text).map(({ kind, name }) => `${kind} ${name}`);

describe("what a memory names", () => {
  it("are files, symbols and commands in backticks, and paths anywhere", () => {
    expect(
      names(
        "Settings live in `src/settings/load.ts:12`, see also docs/how.md. Call `loadSettings()` or `user_name`; run `npm run lint` and `make all`. Start `biome --fix src`.",
      ),
    ).toEqual([
      "file src/settings/load.ts",
      "symbol loadSettings",
      "symbol user_name",
      "command npm run lint",
      "command make all",
      "command biome",
      "file docs/how.md",
    ]);
  });

  it.each([
    "See https://example.org/a/b.html and `https://x.y/z.ts`.",
    "`src/**/*.ts`, `<path>/file.ts`, `$HOME/x.sh`, `~/x.sh`, `/etc/hosts`, `../up.ts`",
    "`@scope/package`, `Node.js`, `and/or` is a phrase, `README.md`, `true`, `git status`",
    "The module `old.ts` was removed. `gone()` no longer exists.",
    "For example `foo/bar.ts` or `fooBar()`.",
    "```sh\nsrc/never.ts\nnpm run never\n```",
    "`.claude/settings.json`, `dist/index.js`, `node_modules/x/y.js`",
  ])("are not: %s", (text) => {
    const drifting: WorkingTree = {
      hasPath: async () => "missing",
      hasFileEnding: async () => "missing",
      findWords: async () => new Set<string>(),
      hasCommand: async () => "missing",
    };
    return expect(findDrift(text, drifting)).resolves.toEqual([]);
  });
});

describe("the drift check", () => {
  it("flags what is not in the tree, and nothing else", async () => {
    const text = [
      "Limits: `packages/palimpsest/src/memory/directory/limits.ts`, `directory/limits.ts`, `find-drift.ts`, `packages/palimpsest`.",
      "`packages/palimpsest/src/never.ts`, `packages/nothing`, `origin/main`, `npm run test:long`, `npm run never`.",
    ].join("\n");
    expect(await findDrift(text, tree)).toEqual([
      { kind: "file", name: "packages/palimpsest/src/never.ts" },
      { kind: "file", name: "packages/nothing" },
      { kind: "command", name: "npm run never" },
    ]);
  });

  it.each(["AGENTS.md", "CONTRIBUTING.md", "README.md", "GLOSSARY.md", "docs/architecture.md", "docs/tools.md"])(
    "finds nothing wrong in %s, which is kept true",
    async (file) => {
      const text = readFileSync(resolve(repository, file), "utf8");
      expect(findNamedThings(text).length).toBeGreaterThan(0);
      expect(await findDrift(text, tree)).toEqual([]);
    },
  );

  it("leaves alone what can't be told", async () => {
    expect(await findDrift("`someSymbolName` and `make all`", tree)).toEqual([]);
  });

  it("looks 20,000 names up among 4,000 files within a second", async () => {
    const root = await temporaryFolder();
    for (let folder = 0; folder < 20; folder += 1) await mkdir(join(root, `f${folder}`));
    for (let file = 0; file < 4_000; file += 1)
      await writeFile(join(root, `f${file % 20}`, `some-file-${file}.ts`), "");
    const large = fileWorkingTree({ deps: { now: () => millis(0) }, root, programFolders: "" });
    await large.hasFileEnding("some-file-1.ts");
    const began = cpuMillis();
    for (let name = 0; name < 20_000; name += 1) await large.hasFileEnding(`absent-${name}.ts`);
    expect(cpuMillis() - began).toBeLessThan(1_000);
    expect(await large.hasFileEnding("f1/some-file-21.ts")).toBe("there");
    expect(await large.hasFileEnding("file-21.ts")).toBe("missing");
  });

  it("stops after a second: memories that were not reached are not flagged, and are checked the next time", async () => {
    let now = 0;
    const slow: WorkingTree = {
      hasPath: async () => "missing",
      hasFileEnding: async () => {
        now += 400;
        return "missing";
      },
      hasCommand: async () => "unknown",
    };
    const check = new DriftCheck({ now: () => millis(now) }, slow);
    const memories = memoryMemories({ deps: { now: () => millis(0) } });
    const all = [];
    for (const name of ["a", "b", "c", "d", "e"]) {
      const change = { path: `${name}.md`, expected: "any", text: `See \`src/${name}.ts\`.` } as const;
      const provenance = { at: millis(0), trust: "trusted" } as const;
      await memories.commit({ author: "user", provenance, message: "m", changes: [change] });
      const memory = await memories.read(`${name}.md`);
      if (memory !== undefined) all.push(memory);
    }
    expect([...(await check.check(all)).keys()]).toEqual(["a.md", "b.md", "c.md"]);
    expect([...(await check.check(all)).keys()]).toEqual(["a.md", "b.md", "c.md", "d.md", "e.md"]);
  });
});
