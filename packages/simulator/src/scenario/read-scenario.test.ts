import { mkdtempSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { delivered, requestOf, said } from "../../../../test/fixture/scene.ts";
import { formatScenarioProblem } from "./scenario-form.ts";
import { parseScenario, readScenario, type ReadScenarioOutcome } from "./read-scenario.ts";
import { scriptResponder } from "./script-responder.ts";

const parse = (text: string): ReadScenarioOutcome => parseScenario({ file: "s.yaml", text });
const problems = (reading: ReadScenarioOutcome): readonly string[] =>
  reading.kind !== "scenario" ? reading.problems.map(formatScenarioProblem) : [];

describe("what is wrong is said with its line, its path and what is allowed", () => {
  it.each([
    [
      "an unknown field",
      "name: x\nmoves:\n  - txt: Hi\n",
      /^s\.yaml:3:5: moves\[0\]\.txt: is not known here; allowed: text, thinking, /,
    ],
    [
      "an unknown field at the top",
      "name: x\nmovs: [{ text: a }]\n",
      /^s\.yaml:2:1: movs: is not known here; allowed: name, seed, lanes, moves/,
    ],
    [
      "an unknown condition",
      "name: x\nmoves:\n  - when: { lastUsr: a }\n    do: []\n",
      /^s\.yaml:3:13: moves\[0\]\.when\.lastUsr: .*allowed: lastUser, anyText/,
    ],
    ["a value of the wrong type", "name: x\nmoves:\n  - text: 3\n", /^s\.yaml:3:5: moves\[0\]\.text: expected a text$/],
    ["no name", "actor: echo\n", /^s\.yaml:1:1: name: is missing; expected a text$/],
    [
      "a value that is none of those allowed",
      "name: x\nmoves: [{ text: a }]\nafter: stop\n",
      /^s\.yaml:3:1: after: expected one of echo, repeat, end$/,
    ],
    ["an unknown actor", "name: x\nactor: genius\n", /actor: expected one of echo, extract, adversary$/],
    ["moves that are no list", "name: x\nmoves: 3\n", /^s\.yaml:2:1: moves: expected a list of moves$/],
    [
      "a malformed expression",
      "name: x\nmoves:\n  - when: { result: /(/ }\n    do: []\n",
      /moves\[0\]\.when\.result: is not a regular expression/,
    ],
    [
      "a negative wait",
      "name: x\nmoves:\n  - { text: a, delayMs: -1 }\n",
      /moves\[0\]\.delayMs: expected a number from 0$/,
    ],
    [
      "repetitions of repetitions",
      "name: x\nmoves:\n  - { repeat: 400, moves: [{ text: b }, { repeat: 300, text: a }] }\n",
      /moves\[0\]\.moves\[1\]\.repeat: makes 120000 together with those around it; up to 100000 are allowed$/,
    ],
    [
      "repetitions of a branch in a branch",
      "name: x\nmoves:\n  - { repeat: 100000, when: { called: a }, else: [{ repeat: 2, when: { called: b }, do: [] }] }\n",
      /moves\[0\]\.else\[0\]\.repeat: makes 200000 together/,
    ],
    [
      "a wait beyond patience",
      "name: x\nmoves:\n  - { text: a, delayMs: 600001 }\n",
      /delayMs: expected a number up to 600000$/,
    ],
    [
      "an unknown error type",
      "name: x\nmoves:\n  - refuse: { type: oops, message: m }\n",
      /refuse\.type: expected one of invalid_request_error, /,
    ],
    [
      "a fault that can't be read",
      "name: x\nmoves:\n  - text: a\n    fault: [overloaded, oops]\n",
      /^s\.yaml:4:25: moves\[0\]\.fault\[1\]: unknown fault oops: one of rate-limit, /,
    ],
    ["malformed YAML", "name: x\nmoves: [\n", /^s\.yaml:\d+:\d+: /],
    [
      "malformed YAML, of which only the first slip is told",
      "name: x\nmoves:\n  - text: [a\n  - text: }b\n  - text: *c\n",
      /^s\.yaml:\d+:\d+: /,
    ],
    ["no moves in the list", "name: x\nmoves: []\n", /^s\.yaml:2:1: moves: is an empty list/],
    [
      "a name that no tool may have",
      "name: x\nmoves:\n  - tools: [{ name: read file }]\n",
      /tools\[0\]\.name: expected up to 128 letters/,
    ],
    [
      "a number of turns without a direction",
      "name: x\nmoves:\n  - when: { turns: 3 }\n    do: []\n",
      /turns: expected fields with values; allowed: atLeast, atMost$/,
    ],
    [
      "a refusal without words",
      "name: x\nmoves:\n  - refuse: { type: api_error }\n",
      /refuse\.message: is missing; expected a text$/,
    ],
    ["neither moves nor a responder", "name: x\n", /needs `moves` or `responder`$/],
    [
      "moves and a responder under its older name",
      "name: x\nactor: echo\nmoves: [{ text: a }]\n",
      /^s\.yaml:2:1: actor: cannot be combined with `moves`$/,
    ],
    [
      "modes without the adversary",
      "name: x\nactor: echo\nmodes: [empty]\n",
      /modes: belongs to `responder: adversary`$/,
    ],
    ["a responder that ends", "name: x\nresponder: echo\nafter: end\n", /after: belongs to `moves`/],
    [
      "a branch that says something itself",
      "name: x\nmoves:\n  - when: { called: a }\n    do: []\n    text: hm\n",
      /^s\.yaml:5:5: moves\[0\]\.text: cannot be combined with `when`$/,
    ],
    [
      "a branch that leads nowhere",
      "name: x\nmoves:\n  - when: { called: a }\n",
      /moves\[0\]: has `when` and needs `do` or `else`$/,
    ],
    [
      "`do` without `when`",
      "name: x\nmoves:\n  - do: []\n    text: a\n",
      /moves\[0\]\.do: needs `when` in the same step$/,
    ],
    [
      "an empty condition inside another",
      "name: x\nmoves:\n  - when: { any: [{ tool: a }, { not: {} }] }\n    do: []\n",
      /when\.any\[1\]\.not: is empty/,
    ],
    [
      "a refusal that waits",
      "name: x\nmoves:\n  - { refuse: { type: api_error, message: m }, delayMs: 1 }\n",
      /delayMs: cannot be combined with `refuse`$/,
    ],
    ["an empty condition", "name: x\nmoves:\n  - when: {}\n    do: []\n", /moves\[0\]\.when: is empty/],
    ["a move that says nothing", "name: x\nmoves:\n  - delayMs: 3\n", /moves\[0\]: says nothing/],
    [
      "text beside blocks",
      "name: x\nmoves:\n  - text: a\n    blocks: [{ text: b }]\n",
      /moves\[0\]\.text: cannot be combined with `blocks`$/,
    ],
    [
      "a block that is two",
      "name: x\nmoves:\n  - blocks: [{ text: a, thinking: b }]\n",
      /blocks\[0\]: needs exactly one of/,
    ],
    [
      "a refusal that talks",
      "name: x\nmoves:\n  - refuse: { type: api_error, message: m }\n    text: a\n",
      /text: cannot be combined with `refuse`$/,
    ],
    [
      "a mistake inside a nested branch",
      "name: x\nmoves:\n  - when: { called: a }\n    else:\n      - moves:\n          - tool: a\n",
      /^s\.yaml:6:13: moves\[0\]\.else\[0\]\.moves\[0\]\.tool: is not known here/,
    ],
    [
      "a mistake in a lane",
      "name: x\nmoves: [{ text: a }]\nlanes:\n  - name: l\n    when: { called: a }\n",
      /^s\.yaml:4:5: lanes\[0\]: needs `moves` or `responder`$/,
    ],
  ])("%s", (_, text, expected) => {
    expect(problems(parse(text))).toEqual([expect.stringMatching(expected)]);
  });

  it("all of it at once", () => {
    expect(problems(parse("name: x\nseed: a\nafter: b\nmoves:\n  - text: 1\n"))).toHaveLength(3);
  });

  it("what goes together too, where the form is wrong elsewhere, in the order of the lines", () => {
    const text =
      "moves:\n  - delayMs: 3\n  - { text: 1, fault: oops }\n  - { refuse: { type: api_error }, text: a }\nmodes: [empty]\n";
    expect(problems(parse(text)).map((problem) => problem.replace(/^s\.yaml:\d+:\d+: /, "").split(/[:;] /)[0])).toEqual(
      ["name", "moves[0]", "moves[1].text", "moves[1].fault", "moves[2].refuse.message", "modes"],
    );
  });

  it("aliases that stand for billions are refused", () => {
    const levels = Array.from(
      { length: 9 },
      (_, at) => `l${at}: &l${at} [${at === 0 ? "x" : `*l${at - 1},`.repeat(9)}]`,
    );
    expect(problems(parse(levels.join("\n")))).toEqual([expect.stringMatching(/alias/)]);
  });
});

describe("files", () => {
  const folder = mkdtempSync(join(tmpdir(), "scenario-"));
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const firstReply = async (path: string): Promise<string> => {
    const reading = await readScenario(path);
    if (reading.kind !== "scenario") return problems(reading).join("\n");
    return said(await delivered(scriptResponder(reading.scenario), requestOf("Hello you")));
  };

  it.each([
    ["a.yaml", "name: a\nmoves: [{ text: from yaml }]", "from yaml"],
    ["a.json", '{"name": "a", "moves": [{"text": "from json"}]}', "from json"],
    [
      "a.ts",
      'const words: string = "from ts";\nexport const scenario = { name: "a", moves: [{ text: words }] };',
      "from ts",
    ],
    [
      "b.mjs",
      "export const scenario = { name: 'b', moves: ({ request }) => ({ text: `heard ${request.messages.length}` }) };",
      "heard 1",
    ],
    ["c.mjs", "export const scenario = { name: 'c', actor: 'echo' };", "You wrote: “Hello you”"],
  ])("%s is read", async (name, text, expected) => {
    expect(await firstReply(await file(name, text))).toBe(expected);
  });

  it.each([
    [
      "d.mjs",
      "export const scenario = { name: 'd', moves: [{ txt: 'a' }] };",
      /d\.mjs: moves\[0\]\.txt: is not known here; allowed: text/,
    ],
    [
      "j.mjs",
      "export const scenario = { name: 'j', moves: () => ({ text: 'a' }), after: 'echo' };",
      /j\.mjs: after: belongs to a list/,
    ],
    ["e.mjs", "export const other = 1;", /has no export named `scenario`/],
    ["f.mjs", "throw new Error('broken module');", /can't be loaded: broken module/],
    ["g.txt", "name: g", /allowed: \.yaml, \.yml, \.json, \.ts/],
    ["h.yaml", `name: ${"h".repeat(2 ** 20)}`, /a scenario has at most 1048576/],
  ])("%s is refused with a reason", async (name, text, expected) => {
    expect(await firstReply(await file(name, text))).toMatch(expected);
  });

  it.each(["none.yaml", "none.ts"])("a missing file is told, not a crash: %s", async (name) => {
    expect(await firstReply(join(folder, name))).toMatch(new RegExp(`${name}: is not there`));
  });

  it("a function that gives no move throws and says what is wrong with it", async () => {
    const path = await file("i.mjs", "export const scenario = { name: 'i', moves: () => ({ txt: 'a' }) };");
    await expect(firstReply(path)).rejects.toThrow(/returned no move: txt is not known here/);
  });
});

describe("docs/scenarios.md", () => {
  it("names every field of the schema", async () => {
    const page = await readFile("docs/scenarios.md", "utf8");
    const { conditionForm, laneForm, scenarioForm, stepForm } = await import("./scenario-form.ts");
    const fields = [conditionForm, laneForm, scenarioForm, stepForm].flatMap(({ shape }) => Object.keys(shape));
    expect(fields.filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
    const { adversaryModes } = await import("../responder/adversary-responder.ts");
    expect(adversaryModes.filter((mode) => !page.includes(`\`${mode}\``))).toEqual([]);
  });
});
