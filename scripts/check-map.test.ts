import { describe, expect, it } from "vitest";
import { checkMap } from "./check-map.ts";

const rulesOf = (files: Record<string, string>): readonly string[] =>
  checkMap(new Map(Object.entries(files))).map(
    ({ file, line, imported, rule }) => `${file}:${line} ${imported}: ${rule}`,
  );

describe("the arrows of the map", () => {
  it("lets a folder import from its own and from every folder to its left", () => {
    expect(
      rulesOf({
        "src/schema/id.ts": `import { z } from "zod"; export const id = z.string();`,
        "src/transcript/path.ts": `import { id } from "../schema/id.ts"; export const path = id;`,
        "src/tokens/ledger.ts": `import { path } from "../transcript/path.ts"; export const ledger = path;`,
        "src/store/files/lock.ts": `import { open } from "node:fs/promises"; export const lock = open;`,
        "src/store/files/writer.ts": `import { lock } from "./lock.ts"; export const writer = lock;`,
        "src/engine.ts": `import { writer } from "./store/files/writer.ts"; export const engine = writer;`,
        "src/cli/main.ts": `import { engine } from "../engine.ts"; export const main = engine;`,
      }),
    ).toEqual([]);
  });

  it("refuses an import to the right, naming file, line, import and rule", () => {
    expect(
      rulesOf({
        "src/tokens/ledger.ts": `\nimport { turn } from "../loop/turn.ts";`,
        "src/loop/turn.ts": `export const turn = 1;`,
      }),
    ).toEqual(["src/tokens/ledger.ts:2 ../loop/turn.ts: tokens imports only schema, transcript"]);
  });

  it("refuses an import within a column", () => {
    const rules = rulesOf({
      "src/store/a.ts": `import { b } from "../model/b.ts";`,
      "src/model/b.ts": `export const b = 1;`,
    });
    expect(rules).toHaveLength(1);
    expect(rules[0]).toMatch(/store imports only schema, .* layers, presets$/);
  });

  it("keeps schema on its own", () => {
    expect(
      rulesOf({ "src/schema/a.ts": `import "../transcript/b.ts";`, "src/transcript/b.ts": `export const b = 1;` }),
    ).toEqual(["src/schema/a.ts:1 ../transcript/b.ts: schema imports nothing of ours"]);
  });

  it.each([
    ["a type import", `import type { T } from "../loop/turn.ts";`],
    ["a re-export", `export { turn } from "../loop/turn.ts";`],
    ["a star export", `export * from "../loop/turn.ts";`],
    ["a dynamic import", `export const turn = () => import("../loop/turn.ts");`],
    ["a type query", `export type T = import("../loop/turn.ts").T;`],
    ["an import for its effect", `import "../loop/turn.ts";`],
  ])("sees %s", (_, source) => {
    expect(rulesOf({ "src/ports/a.ts": source, "src/loop/turn.ts": `export const turn = 1;` })).toHaveLength(1);
  });

  it("does not take text for imports", () => {
    expect(
      rulesOf({
        "src/ports/a.ts": `// import "../loop/turn.ts"\nexport const a = 'import "../loop/turn.ts"';`,
        "src/loop/turn.ts": "",
      }),
    ).toEqual([]);
  });

  it.each(["schema", "transcript", "tokens", "cache", "ports"])("refuses Node modules in %s", (place) => {
    const rules = rulesOf({ [`src/${place}/a.ts`]: `import type { Stats } from "node:fs"; import "path";` });
    expect(rules).toHaveLength(2);
    expect(rules[0]).toContain("what is pure imports no Node module");
  });

  it("holds a layer's plan to the pure folders", () => {
    const rules = rulesOf({
      "src/layers/2-clear/plan.ts": `import "../../tokens/a.ts"; import "../../ports/b.ts"; import "node:fs";`,
      "src/layers/2-clear/run.ts": `import "../../ports/b.ts"; import "./plan.ts"; import "node:fs";`,
      "src/tokens/a.ts": "",
      "src/ports/b.ts": "",
    });
    expect(rules).toHaveLength(2);
    expect(rules[0]).toMatch(/plan\.ts:1 \.\.\/\.\.\/ports\/b\.ts: a plan is pure/);
    expect(rules[1]).toMatch(/plan\.ts:1 node:fs: a plan is pure/);
  });

  it("holds whatever a layer has beside its run to the pure folders and to the layers", () => {
    const rules = rulesOf({
      "src/layers/1-offload/plan.ts": `import "./limits.ts";`,
      "src/layers/1-offload/limits.ts": `import "node:fs"; import "../../ports/b.ts";`,
      "src/ports/b.ts": "",
    });
    expect(rules).toHaveLength(2);
    expect(rules.every((rule) => rule.startsWith("src/layers/1-offload/limits.ts"))).toBe(true);
  });

  it("refuses folders without a column, files outside src, missing files, computed names and the package's own name", () => {
    expect(
      rulesOf({
        "src/util/a.ts": `import "../schema/b.ts";`,
        "src/schema/b.ts": "",
        "src/cli/c.ts": `import "../../test/d.ts"; import "./gone.ts"; import(String(1)); import "palimpsest";`,
      }),
    ).toEqual([
      "src/util/a.ts:1 ../schema/b.ts: util is not on the map: give it a column in scripts/check-map.ts",
      "src/cli/c.ts:1 ../../test/d.ts: src imports nothing of ours from outside src",
      "src/cli/c.ts:1 ./gone.ts: there is no such file",
      "src/cli/c.ts:1 import(…): the name of an imported module is written out, so that it can be checked",
      "src/cli/c.ts:1 palimpsest: inside src, imports go straight to the file",
    ]);
  });

  it("reports a file that cannot be parsed", () => {
    expect(rulesOf({ "src/schema/a.ts": "import {" })[0]).toContain("cannot be parsed");
  });

  it("lets tests reach across the map", () => {
    expect(
      rulesOf({
        "src/schema/a.test.ts": `import "../loop/turn.ts"; import "node:fs"; import "../../test/x.ts";`,
        "src/loop/turn.ts": "",
      }),
    ).toEqual([]);
  });
});

describe("cycles", () => {
  it("finds one once, types and tests included", () => {
    expect(
      rulesOf({
        "src/loop/a.ts": `import type { B } from "./b.ts";`,
        "src/loop/b.ts": `export type B = import("./c.test.ts").C;`,
        "src/loop/c.test.ts": `export * from "./a.ts";`,
        "src/loop/d.ts": `import "./a.ts";`,
      }),
    ).toEqual([
      "src/loop/a.ts:1 src/loop/b.ts: a cycle: src/loop/a.ts → src/loop/b.ts → src/loop/c.test.ts → src/loop/a.ts",
    ]);
  });

  it("finds a file that imports itself, and cycles that share a file", () => {
    expect(
      rulesOf({
        "src/loop/self.ts": `import "./self.ts";`,
        "src/loop/a.ts": `import "./b.ts"; import "./c.ts";`,
        "src/loop/b.ts": `import "./a.ts";`,
        "src/loop/c.ts": `import "./a.ts";`,
      }),
    ).toHaveLength(3);
  });
});
