import type { MoveBlock } from "@palimpsest/simulator";

/** One task of the team: a change of a file, by a model that has read another one. */
export interface TeamWork {
  readonly subject: string;
  readonly reads: string;
  readonly writes: string;
  readonly change: MoveBlock;
}

export const call = (name: string, input: Readonly<Record<string, string>>): MoveBlock => ({
  type: "tool_use",
  name,
  input,
});

export const say = (text: string): MoveBlock => ({ type: "text", text });

const fixDay: TeamWork = {
  subject: "Fix localDay in src/clock.js",
  reads: "src/clock.js",
  writes: "src/clock.js",
  change: call("edit", {
    file_path: "src/clock.js",
    old_string: "offsetMinutes * 1_000",
    new_string: "minutes(offsetMinutes)",
  }),
};

const addTest = (module: string, names: string, lines: readonly string[]): TeamWork => {
  const file = `test/${module}.test.js`;
  const imports = ['import assert from "node:assert/strict";', 'import { it } from "node:test";'];
  const content = [
    ...imports,
    `import { ${names} } from ${JSON.stringify(`../src/${module}.js`)};`,
    "",
    ...lines,
    "",
  ].join("\n");
  return {
    subject: `Test src/${module}.js`,
    reads: `src/${module}.js`,
    writes: file,
    change: call("write", { file_path: file, content }),
  };
};

export const works: readonly TeamWork[] = [
  fixDay,
  addTest("units", "changeText, levelText", [
    'it("a level is shown in both units", () => {',
    '  assert.equal(levelText(312, "both"), "3.12 m (10.2 ft)");',
    '  assert.equal(changeText(0), "±0 cm");',
    "});",
  ]),
  addTest("table", "wrapped", [
    'it("a text is broken between words", () => {',
    '  assert.equal(wrapped("the river is rising", 9), "the river\\nis rising");',
    "});",
  ]),
  addTest("trend", "reachedAt", [
    'it("a falling river never reaches more", () => {',
    "  assert.equal(reachedAt({ levelCm: 300, at: 0 }, { cmPerHour: -4 }, 320), undefined);",
    "});",
  ]),
  addTest("stations", "ofRiver, stationOf", [
    'it("a river has its stations", () => {',
    '  assert.deepEqual(ofRiver("Brae"), [stationOf("ESKER"), stationOf("MORROW")]);',
    "});",
  ]),
  addTest("schedule", "nextDue", [
    'it("a worse alarm is told at once", () => {',
    "  assert.equal(nextDue({ at: 1_000, alarm: 0 }, 2), 1_000);",
    "});",
  ]),
];
