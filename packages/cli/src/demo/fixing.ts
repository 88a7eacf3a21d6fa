import { causeWords, pinnedWords, release, testCommand } from "./facts.ts";
import { act, always, bash, call, edit, knowing, read, type Step, type Task } from "./step.ts";

export const fixing = (): Task => ({
  says: `A test fails since this morning. Find out why and fix it, the way this project does that. It goes into release ${release}: remember the name, I will need it.`,
  steps: [...finding(), ...changing()],
});

/** From the test that fails to the line that is wrong, by what each file imports. */
const finding = (): readonly Step[] => [
  always("There is a skill for that.", call("skill", { name: "failing-test" })),
  always("First all tests, as it says.", todos(0), bash(testCommand)),
  knowing({
    pattern: /^test at (?<path>test\/[\w-]+\.test\.js):\d+:\d+\n✖ (?<name>[^\n(]+) \(/,
    look: bash(testCommand),
    play: ({ path = "", name = "" }) =>
      act(`One fails: “${name}”. What it asks for stands in \`${path}\`.`, read(path)),
  }),
  knowing({
    pattern: /highest \} = (?<made>\w+)\(/,
    look: read("test/bulletin.test.js"),
    play: ({ made = "" }, seen) => {
      const path = seen.find(importOf(made))?.["path"] ?? "index";
      return act(
        `The level comes from \`${made}\`. The test itself is right, so I follow the import.`,
        read(`src/${path}.js`),
      );
    },
  }),
  knowing({
    pattern: /const extreme = (?<made>\w+)\(/,
    look: read("src/bulletin.js"),
    play: ({ made = "" }, seen) => {
      const path = seen.find(importOf(made))?.["path"] ?? "index";
      const words = `Nothing wrong here: it takes what \`${made}\` gives. One hop further, and the readings themselves.`;
      return act(words, read(`src/${path}.js`), read("data/harrow-2026-03-14.txt"));
    },
  }),
  knowing({
    pattern: /Map\.groupBy\(readings, .*=> (?<made>\w+)\(/,
    look: read("src/days.js"),
    play: ({ made = "" }, seen) => {
      const level = seen.find(/highest\.levelCm, (?<level>\d+)\)/)?.["level"] ?? "What is wanted";
      const time = seen.find(new RegExp(`T(?<time>[\\d:]+)Z HARROW ${level}$`))?.["time"] ?? "some time";
      return act(
        `${level} cm were measured at ${time} UTC, which is after midnight at the gauge. So which day does \`${made}\` say that is?`,
        call("grep", { pattern: `function ${made}\\(`, path: "src", output: "content" }),
      );
    },
  }),
  knowing({
    pattern: /^(?<path>src\/[\w-]+\.js):\d+:export function localDay/,
    look: call("grep", { pattern: "function localDay\\(", path: "src", output: "content" }),
    play: ({ path = "" }) => act(`\`${path}\`.`, read(path)),
  }),
];

const changing = (): readonly Step[] => [
  knowing({
    pattern: /^(?<line> +return .*offsetMinutes \* 1_000.*)$/,
    look: read("src/clock.js"),
    play: ({ line = "" }) =>
      act(
        `Here it is: ${causeWords}, where a minute has sixty. The module has \`minutes\` for that.`,
        edit({
          path: "src/clock.js",
          from: line,
          to: line.replace("offsetMinutes * 1_000", "minutes(offsetMinutes)"),
        }),
      ),
  }),
  always("A test beside the module comes next.", read("test/clock.test.js")),
  knowing({
    pattern: /^(?<line> +it\("begins earlier in the east".*)$/,
    look: read("test/clock.test.js"),
    play: ({ line = "" }) =>
      act(
        "It must fail without the change: an hour before midnight.",
        edit({ path: "test/clock.test.js", from: line, to: `${newTest}\n\n${line}` }),
      ),
  }),
  always("And all tests again.", todos(3), bash(testCommand)),
  knowing({
    pattern: /^ℹ pass (?<passed>\d+)\nℹ fail 0$/,
    look: bash(testCommand),
    play: ({ passed = "" }) =>
      act(
        `Fixed: all ${passed} tests pass. \`localDay\` in src/clock.js ${pinnedWords}. The test that failed is two modules away from it.`,
      ),
  }),
];

const newTest = `  it("has begun in the east shortly before midnight UTC", () => {
    assert.equal(localDay(Date.parse("2026-03-14T23:00Z"), 60), "2026-03-15");
  });`;

const importOf = (name: string): RegExp =>
  new RegExp(String.raw`^import \{[^}]*\b${name}\b[^}]*\} from "(?:\.\.\/src|\.)\/(?<path>[\w-]+)\.js"`);

const stepNames = [
  "run all tests",
  "follow the imports to the cause",
  "change the cause alone",
  "add a test beside it",
];

/** The first so many are done. */
export const todos = (done: number): ReturnType<typeof call> =>
  call("todo", {
    todos: [...stepNames, `note the change for ${release}`].map((content, at) => ({
      content,
      status: at < done ? "completed" : at === done ? "in_progress" : "pending",
    })),
  });
