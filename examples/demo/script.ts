import type { MoveBlock } from "@palimpsest/simulator";
import type { Step } from "./model.ts";

/** A message of the user, and how the model works on it. */
export interface Task {
  readonly says: string;
  readonly script: readonly Step[];
}

export const facts = {
  /** Said once, in the first message: if the model knows it later, that message was not lost. */
  release: "4.2.1-heron",
  /** Part of the first answer, which the user pins. */
  cause: "one second for each minute of the offset, so late readings stayed on the day before",
  /** What the failing test says, and a line in the middle of the log. */
  error: "399 !== 412",
  hiddenLine: "05:48:29 bulletin QUERN 2026-03-15 says 187 cm, its gauge 192 cm: DISAGREES",
};

const call = (name: string, input: Readonly<Record<string, string>> = {}): MoveBlock => ({
  type: "tool_use",
  name,
  input,
});
const read = (path: string): MoveBlock => call("read", { path });
const say =
  (text: string, ...calls: readonly MoveBlock[]): Step =>
  () => [{ type: "text", text }, ...calls];
const look =
  (...calls: readonly MoveBlock[]): Step =>
  () =>
    calls;

/** Follows the imports from the failing test to the faulty line. */
const fix: Task = {
  says: `A test fails since this morning. Find out why and fix it. It goes into release ${facts.release}: I will need the name.`,
  script: [
    look(call("test")),
    say("One fails, in test/bulletin.test.js. I follow its imports.", read("test/bulletin.test.js")),
    look(read("src/bulletin.js")),
    look(read("src/days.js"), read("data/harrow-2026-03-14.txt")),
    say("412 cm were measured after midnight at the gauge. Which day is that for `localDay`?", read("src/clock.js")),
    say(
      "One second for each minute of the offset, where a minute has sixty.",
      call("edit", { path: "src/clock.js", from: "offsetMinutes * 1_000", to: "minutes(offsetMinutes)" }),
    ),
    look(call("test")),
    (seen) => {
      const passed = /ℹ pass (?<count>\d+)\nℹ fail 0/.exec(seen)?.groups?.["count"] ?? "no";
      return [
        { type: "text", text: `Fixed: all ${passed} tests pass. \`localDay\` in src/clock.js added ${facts.cause}.` },
      ];
    },
  ],
};

const log: Task = {
  says: "Did the night's log show it already? It is logs/night.log.",
  script: [
    look(read("logs/night.log")),
    say(
      "Too much to look through by eye.",
      call("search", { path: "logs/night.log", query: "HARROW 2026-03-15 says" }),
    ),
    (seen) => {
      const line = /\d\d:\d\d:\d\d bulletin HARROW .*DISAGREES/.exec(seen)?.[0] ?? "nothing";
      return [{ type: "text", text: `Yes: “${line}”.` }];
    },
  ],
};

const otherFiles = [
  ...["alarms", "gaps", "rating", "reading", "schedule", "spikes", "stations", "store", "table", "trend", "units"].map(
    (name) => `src/${name}.js`,
  ),
  ...["alarms", "gaps", "reading", "clock"].map((name) => `test/${name}.test.js`),
];

const review: Task = {
  says: "Does any other module reckon with offsets like that? Read every one of them, and the tests.",
  script: [...otherFiles.map((path) => look(read(path))), look(call("test")), say("No: `localDay` was the only one.")],
};

const release: Task = {
  says: "Good. Now CHANGES.md, with the release that I named.",
  script: [
    (seen) => {
      const name = /release (?<name>\d+\.\d+\.\d+-[a-z]+)/.exec(seen)?.groups?.["name"] ?? "unknown";
      const content = `# ${name}\n\n- Late readings count for the right day.\n`;
      return [{ type: "text", text: `That was ${name}.` }, call("write", { path: "CHANGES.md", content })];
    },
    say("Done."),
  ],
};

const recall: Task = {
  says: "Two things for the report: what did the test say at first, and what did the log say of QUERN?",
  script: [
    say(
      "Neither is in front of me: I look it up in what was said.",
      call("recall", { query: '"Expected values to be strictly equal"' }),
      call("recall", { query: "bulletin QUERN DISAGREES" }),
    ),
    (seen) => {
      const error = /\d+ !== \d+/.exec(seen)?.[0] ?? "nothing";
      const line = /\d\d:\d\d:\d\d bulletin QUERN .*DISAGREES/.exec(seen)?.[0] ?? "nothing";
      return [{ type: "text", text: `The test said “${error}”. The log said “${line}”.` }];
    },
  ],
};

export const tasks = { fix, log, review, release, recall };
