import { expect, it } from "vitest";
import { beginsWithParticiple, fileShape, shape } from "./shape.ts";

it.each([
  ["told", true],
  ["assembledRequest", true],
  ["keptFiles", true],
  ["needToolKind", false],
  ["readFile", false],
  ["setMode", false],
  ["openContext", false],
  ["embed", false],
])("%s begins with a participle: %s", (name, expected) => {
  expect(beginsWithParticiple(name)).toBe(expected);
});

it("counts what stands at the top level of a file", () => {
  const source = `import { a } from "./a.ts";\nimport { b } from "b";\nexport const pathOf = () => a;\ninterface Waiting {}\nfunction inner() { function told() {} return told; }\n`;
  expect(fileShape("src/path-of.ts", source)).toEqual({
    lines: 5,
    exports: ["pathOf"],
    relativeImports: 1,
    functions: ["pathOf", "inner"],
    types: ["Waiting"],
    isNamedAfterExport: true,
  });
});

it("adds files up, names by their form in per cent", () => {
  const sources = new Map([
    ["src/a.ts", `export const keptFiles = () => 1;\n`],
    [
      "src/b.ts",
      `export interface Setting {}\nexport interface Going {}\nexport type Waiting = 1;\nexport function sizeOf() {}\n`,
    ],
  ]);
  expect(shape(sources)).toMatchObject({
    files: 2,
    lines: 5,
    participlePercent: 50,
    endInOfPercent: 50,
    typesInIng: 2,
    namedAfterExportPercent: 0,
  });
});
