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
        "packages/palimpsest/src/schema/id.ts": `import { z } from "zod"; export const id = z.string();`,
        "packages/palimpsest/src/transcript/path.ts": `import { id } from "../schema/id.ts"; export const path = id;`,
        "packages/palimpsest/src/tokens/ledger.ts": `import { path } from "../transcript/path.ts"; export const ledger = path;`,
        "packages/palimpsest/src/store/files/lock.ts": `import { open } from "node:fs/promises"; export const lock = open;`,
        "packages/palimpsest/src/store/files/writer.ts": `import { lock } from "./lock.ts"; export const writer = lock;`,
        "packages/palimpsest/src/session/open.ts": `import { writer } from "../store/files/writer.ts"; export const engine = writer;`,
        "packages/cli/src/main.ts": `import { engine } from "palimpsest/internal/session/open"; export const main = engine;`,
      }),
    ).toEqual([]);
  });

  it("refuses an import to the right, naming file, line, import and rule", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/tokens/ledger.ts": `\nimport { turn } from "../loop/turn.ts";`,
        "packages/palimpsest/src/loop/turn.ts": `export const turn = 1;`,
      }),
    ).toEqual([
      "packages/palimpsest/src/tokens/ledger.ts:2 ../loop/turn.ts: tokens imports only text, schema, transcript",
    ]);
  });

  it("refuses an import within a column", () => {
    const rules = rulesOf({
      "packages/palimpsest/src/store/a.ts": `import { b } from "../model/b.ts";`,
      "packages/palimpsest/src/model/b.ts": `export const b = 1;`,
    });
    expect(rules).toHaveLength(1);
    expect(rules[0]).toMatch(/store imports only text, schema, .* policy, settings$/);
  });

  it("keeps schema on its own", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/schema/a.ts": `import "../transcript/b.ts";`,
        "packages/palimpsest/src/transcript/b.ts": `export const b = 1;`,
      }),
    ).toEqual(["packages/palimpsest/src/schema/a.ts:1 ../transcript/b.ts: schema imports only text"]);
  });

  it.each([
    ["a type import", `import type { T } from "../loop/turn.ts";`],
    ["a re-export", `export { turn } from "../loop/turn.ts";`],
    ["a star export", `export * from "../loop/turn.ts";`],
    ["a dynamic import", `export const turn = () => import("../loop/turn.ts");`],
    ["a type query", `export type T = import("../loop/turn.ts").T;`],
    ["an import for its effect", `import "../loop/turn.ts";`],
  ])("sees %s", (_, source) => {
    expect(
      rulesOf({
        "packages/palimpsest/src/ports/a.ts": source,
        "packages/palimpsest/src/loop/turn.ts": `export const turn = 1;`,
      }),
    ).toHaveLength(1);
  });

  it("does not take text for imports", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/ports/a.ts": `// import "../loop/turn.ts"\nexport const a = 'import "../loop/turn.ts"';`,
        "packages/palimpsest/src/loop/turn.ts": "",
      }),
    ).toEqual([]);
  });

  it.each(["schema", "transcript", "tokens", "cache", "ports"])("refuses Node modules in %s", (place) => {
    const rules = rulesOf({
      [`packages/palimpsest/src/${place}/a.ts`]: `import type { Stats } from "node:fs"; import "path";`,
    });
    expect(rules).toHaveLength(2);
    expect(rules[0]).toContain("what is pure imports no Node module");
  });

  it("holds a layer's plan to the pure folders", () => {
    const rules = rulesOf({
      "packages/palimpsest/src/layers/2-clear/plan.ts": `import "../../tokens/a.ts"; import "../../ports/b.ts"; import "node:fs";`,
      "packages/palimpsest/src/layers/2-clear/run.ts": `import "../../ports/b.ts"; import "./plan.ts"; import "node:fs";`,
      "packages/palimpsest/src/tokens/a.ts": "",
      "packages/palimpsest/src/ports/b.ts": "",
    });
    expect(rules).toHaveLength(2);
    expect(rules[0]).toMatch(/plan\.ts:1 \.\.\/\.\.\/ports\/b\.ts: a plan is pure/);
    expect(rules[1]).toMatch(/plan\.ts:1 node:fs: a plan is pure/);
  });

  it("holds whatever a layer has beside its run to the pure folders and to the layers", () => {
    const rules = rulesOf({
      "packages/palimpsest/src/layers/1-offload/plan.ts": `import "./limits.ts";`,
      "packages/palimpsest/src/layers/1-offload/limits.ts": `import "node:fs"; import "../../ports/b.ts";`,
      "packages/palimpsest/src/ports/b.ts": "",
    });
    expect(rules).toHaveLength(2);
    expect(rules.every((rule) => rule.startsWith("packages/palimpsest/src/layers/1-offload/limits.ts"))).toBe(true);
  });

  it("refuses folders without a column, files outside the sources, missing files, computed names and the package's own name", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/util/a.ts": `import "../schema/b.ts";`,
        "packages/palimpsest/src/schema/b.ts": `import(String(1)); import "palimpsest/internal/schema/d";`,
        "packages/palimpsest/src/schema/d.ts": "",
        "packages/cli/src/c.ts": `import "../../../test/d.ts"; import "./gone.ts"; import "palimpsest/internal/gone";`,
      }),
    ).toEqual([
      "packages/palimpsest/src/util/a.ts:1 ../schema/b.ts: util is not on the map: give it a column in scripts/check-map.ts",
      "packages/palimpsest/src/schema/b.ts:1 import(…): the name of an imported module is written out, so that it can be checked",
      "packages/palimpsest/src/schema/b.ts:1 palimpsest/internal/schema/d: inside a package, imports go straight to the file",
      "packages/cli/src/c.ts:1 ../../../test/d.ts: a package imports nothing of ours from outside the packages' sources",
      "packages/cli/src/c.ts:1 ./gone.ts: there is no such file",
      "packages/cli/src/c.ts:1 palimpsest/internal/gone: there is no such file",
    ]);
  });

  it("lets a package import only those it stands on, by their names", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/schema/a.ts": `import type { S } from "@palimpsest/simulator/internal/s";`,
        "packages/simulator/src/s.ts": `import "../../palimpsest/src/schema/b.ts"; import "@palimpsest/lab";`,
        "packages/palimpsest/src/schema/b.ts": "",
        "packages/lab/src/index.ts": `import "@palimpsest/simulator/internal/s";`,
      }).filter((rule) => !rule.includes("a cycle")),
    ).toEqual([
      "packages/palimpsest/src/schema/a.ts:1 @palimpsest/simulator/internal/s: palimpsest imports no other package of ours",
      "packages/simulator/src/s.ts:1 ../../palimpsest/src/schema/b.ts: a package reaches another by its name, not by a path",
      "packages/simulator/src/s.ts:1 @palimpsest/lab: simulator imports only palimpsest",
    ]);
  });

  it("sees an import of a public sub-path, which is for others", () => {
    expect(rulesOf({ "packages/cli/src/a.ts": `import { presetNames } from "palimpsest/policy";` })).toEqual([
      "packages/cli/src/a.ts:1 palimpsest/policy: our packages import each other by their internal/ paths",
    ]);
  });

  it("reports a file that cannot be parsed", () => {
    expect(rulesOf({ "packages/palimpsest/src/schema/a.ts": "import {" })[0]).toContain("cannot be parsed");
  });

  it("lets tests reach across the map", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/schema/a.test.ts": `import "../loop/turn.ts"; import "node:fs"; import "../../test/x.ts";`,
        "packages/palimpsest/src/loop/turn.ts": "",
      }),
    ).toEqual([]);
  });
});

describe("cycles", () => {
  it("finds one once, types and tests included", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/loop/a.ts": `import type { B } from "./b.ts";`,
        "packages/palimpsest/src/loop/b.ts": `export type B = import("./c.test.ts").C;`,
        "packages/palimpsest/src/loop/c.test.ts": `export * from "./a.ts";`,
        "packages/palimpsest/src/loop/d.ts": `import "./a.ts";`,
      }),
    ).toEqual([
      "packages/palimpsest/src/loop/a.ts:1 packages/palimpsest/src/loop/b.ts: a cycle: packages/palimpsest/src/loop/a.ts → packages/palimpsest/src/loop/b.ts → packages/palimpsest/src/loop/c.test.ts → packages/palimpsest/src/loop/a.ts",
    ]);
  });

  it("finds a file that imports itself, and cycles that share a file", () => {
    expect(
      rulesOf({
        "packages/palimpsest/src/loop/self.ts": `import "./self.ts";`,
        "packages/palimpsest/src/loop/a.ts": `import "./b.ts"; import "./c.ts";`,
        "packages/palimpsest/src/loop/b.ts": `import "./a.ts";`,
        "packages/palimpsest/src/loop/c.ts": `import "./a.ts";`,
      }),
    ).toHaveLength(3);
  });
});
