import { nightLogCallId, nightLogPath, longCommand, causeText, pinnedText, releaseName, testCommand } from "./facts.ts";
import {
  type RequestContents,
  replyWith,
  alwaysReply,
  bashCall,
  toolCall,
  whenSeen,
  type StepReply,
  type ScriptTask,
  type ToolCall,
  editCall,
  readCall,
  type ScriptStep,
  lookFirst,
} from "./scripted-model.ts";

/** A duration in bare milliseconds, such as `45 * 60_000`. */
const bareMillis = /(?<count>\d+) \* (?<unit>60_000|3_600_000|86_400_000)\b/;

const helperByUnit: Readonly<Record<string, string>> = {
  "60_000": "minutes",
  "3_600_000": "hours",
  "86_400_000": "days",
};

const searchCall = toolCall("grep", {
  pattern: String.raw`\d \* (60_000|3_600_000|86_400_000)\b`,
  path: "src",
  output: "content",
});

/** Reads and changes each module that grep finds. */
export const tidyTask = (): ScriptTask => ({
  says: "Then no module should reckon with bare milliseconds any more. Put all of them on the helpers of src/clock.js. Show me a plan first.",
  steps: [
    alwaysReply("Where that is done:", searchCall),
    (seen) => {
      const paths = new Set(seen.findAll(/^(?<path>src\/[\w-]+\.js):\d+:/).map(({ path = "" }) => path));
      if (paths.size === 0) return { ...replyWith("Once more.", searchCall), step: "waits" };
      const plan = [
        "# Times by their names",
        "",
        ...[...paths].map((path) => `- ${path}: its bare milliseconds become helpers of src/clock.js`),
        "",
        "No level, no limit and no test is changed. At the end all tests run, and the search finds nothing.",
      ].join("\n");
      return {
        ...replyWith(`${paths.size} modules do that. The plan:`, toolCall("plan", { plan })),
        follows: [...paths].flatMap(moduleSteps),
      };
    },
    alwaysReply("All of them are done. Whether anything is left, and the tests:", searchCall, bashCall(testCommand)),
    whenTestsPass((passed) => `The search finds nothing any more, and all ${passed} tests pass.`),
  ],
});

const moduleSteps = (path: string): readonly ScriptStep[] => [
  alwaysReply("", readCall(path)),
  (seen) => {
    const text = seen.file(path);
    return text === undefined ? lookFirst(readCall(path)) : replyWith("", ...editCalls(path, text));
  },
];

function editCalls(path: string, text: string): readonly ToolCall[] {
  const lines = text.split("\n").filter((line) => bareMillis.test(line));
  const helpers = new Set<string>();
  const changes = [...new Set(lines)].map((from) => {
    const to = from.replaceAll(new RegExp(bareMillis.source, "g"), (_, count: string, unit: string) => {
      const helper = helperByUnit[unit] ?? "minutes";
      helpers.add(helper);
      return `${helper}(${count})`;
    });
    return editCall({ path, from, to });
  });
  return [...changes, editCall({ path, ...importEdit(text, helpers) })];
}

/** Extends the import of clock.js if there is one, or adds one below the first line, which describes the module. */
function importEdit(text: string, helpers: ReadonlySet<string>): { readonly from: string; readonly to: string } {
  const existing = /^import \{ (?<names>[^}]+) \} from "\.\/clock\.js";$/m.exec(text);
  const names = [...(existing?.groups?.["names"]?.split(", ") ?? []), ...helpers].toSorted();
  const line = `import { ${names.join(", ")} } from "./clock.js";`;
  if (existing !== null) return { from: existing[0], to: line };
  const [first = ""] = text.split("\n", 1);
  return { from: first, to: `${first}\n\n${line}` };
}

export const fixTask = (): ScriptTask => ({
  says: `A test fails since this morning. Find out why and fix it, the way this project does that. It goes into release ${releaseName}: remember the name, I will need it.`,
  steps: [...findCauseSteps(), ...changeSteps()],
});

/** Follows the imports from the failing test to the faulty line. */
const findCauseSteps = (): readonly ScriptStep[] => [
  alwaysReply("There is a skill for that.", toolCall("skill", { name: "failing-test" })),
  alwaysReply("First all tests, as it says.", todoCall(0), bashCall(testCommand)),
  whenSeen({
    pattern: /^test at (?<path>test\/[\w-]+\.test\.js):\d+:\d+\n✖ (?<name>[^\n(]+) \(/,
    look: bashCall(testCommand),
    play: ({ path = "", name = "" }) =>
      replyWith(`One fails: “${name}”. What it asks for stands in \`${path}\`.`, readCall(path)),
  }),
  whenSeen({
    pattern: /highest \} = (?<name>\w+)\(/,
    look: readCall("test/bulletin.test.js"),
    play: ({ name = "" }, seen) =>
      replyWith(
        `The level comes from \`${name}\`. The test itself is right, so I follow the import.`,
        readImportCall(seen, name),
      ),
  }),
  whenSeen({
    pattern: /const extreme = (?<name>\w+)\(/,
    look: readCall("src/bulletin.js"),
    play: ({ name = "" }, seen) =>
      replyWith(
        `Nothing wrong here: it takes what \`${name}\` gives. One hop further, and the readings themselves.`,
        readImportCall(seen, name),
        readCall("data/harrow-2026-03-14.txt"),
      ),
  }),
  whenSeen({
    pattern: /Map\.groupBy\(readings, .*=> (?<name>\w+)\(/,
    look: readCall("src/days.js"),
    play: ({ name = "" }, seen) => {
      const level = seen.find(/highest\.levelCm, (?<level>\d+)\)/)?.["level"] ?? "What is wanted";
      const time = seen.find(new RegExp(`T(?<time>[\\d:]+)Z HARROW ${level}$`))?.["time"] ?? "some time";
      return replyWith(
        `${level} cm were measured at ${time} UTC, which is after midnight at the gauge. So which day does \`${name}\` say that is?`,
        findFunctionCall(name),
      );
    },
  }),
  whenSeen({
    pattern: /^(?<path>src\/[\w-]+\.js):\d+:export function localDay/,
    look: findFunctionCall("localDay"),
    play: ({ path = "" }) => replyWith(`\`${path}\`.`, readCall(path)),
  }),
];

const changeSteps = (): readonly ScriptStep[] => [
  whenSeen({
    pattern: /^(?<line> +return .*offsetMinutes \* 1_000.*)$/,
    look: readCall("src/clock.js"),
    play: ({ line = "" }) =>
      replyWith(
        `Here it is: ${causeText}, where a minute has sixty. The module has \`minutes\` for that.`,
        editCall({
          path: "src/clock.js",
          from: line,
          to: line.replace("offsetMinutes * 1_000", "minutes(offsetMinutes)"),
        }),
      ),
  }),
  alwaysReply("A test beside the module comes next.", readCall("test/clock.test.js")),
  whenSeen({
    pattern: /^(?<line> +it\("begins earlier in the east".*)$/,
    look: readCall("test/clock.test.js"),
    play: ({ line = "" }) =>
      replyWith(
        "It must fail without the change: an hour before midnight.",
        editCall({ path: "test/clock.test.js", from: line, to: `${newTestText}\n\n${line}` }),
      ),
  }),
  alwaysReply("And all tests again.", todoCall(3), bashCall(testCommand)),
  whenTestsPass(
    (passed) =>
      `Fixed: all ${passed} tests pass. \`localDay\` in src/clock.js ${pinnedText}. The test that failed is two modules away from it.`,
  ),
];

const whenTestsPass = (text: (passed: string) => string): ScriptStep =>
  whenSeen({
    pattern: /^ℹ pass (?<passed>\d+)\nℹ fail 0$/,
    look: bashCall(testCommand),
    play: ({ passed = "" }) => replyWith(text(passed)),
  });

const newTestText = `  it("has begun in the east shortly before midnight UTC", () => {
    assert.equal(localDay(Date.parse("2026-03-14T23:00Z"), 60), "2026-03-15");
  });`;

/** Reads the module that the name is imported from. */
function readImportCall(seen: RequestContents, name: string): ToolCall {
  const pattern = String.raw`^import \{[^}]*\b${name}\b[^}]*\} from "(?:\.\.\/src|\.)\/(?<path>[\w-]+)\.js"`;
  return readCall(`src/${seen.find(new RegExp(pattern))?.["path"] ?? "index"}.js`);
}

const findFunctionCall = (name: string): ToolCall =>
  toolCall("grep", { pattern: `function ${name}\\(`, path: "src", output: "content" });

const todoNames = [
  "run all tests",
  "follow the imports to the cause",
  "change the cause alone",
  "add a test beside it",
  `note the change for ${releaseName}`,
];

/** Marks the first `done` tasks as completed and the next one as in progress. */
const todoCall = (done: number): ToolCall =>
  toolCall("todo", {
    todos: todoNames.map((content, at) => ({
      content,
      status: at < done ? "completed" : at === done ? "in_progress" : "pending",
    })),
  });

const disagreementCall = toolCall("grep", {
  pattern: "DISAGREES",
  path: nightLogPath,
  output: "content",
  head_limit: 1,
});

export const logTask = (): ScriptTask => ({
  says: `Did the night's log show it already? It is ${nightLogPath}.`,
  steps: [
    alwaysReply("The whole log.", { ...bashCall(`cat ${nightLogPath}`), id: nightLogCallId }),
    alwaysReply("That is too much to look through by eye.", disagreementCall),
    whenSeen({
      pattern:
        /(?<time>\d\d:\d\d:\d\d) bulletin (?<station>\w+) [\d-]+ says (?<said>\d+) cm, its gauge (?<real>\d+) cm/,
      look: disagreementCall,
      play: ({ time = "", station = "", said = "", real = "" }) =>
        replyWith(`Yes, at ${time}: the bulletin of ${station} said ${said} cm and its gauge ${real} cm.`),
    }),
  ],
});

export const changelogTask = (): ScriptTask => ({
  says: "Good. Now CHANGES.md, with the release that I named.",
  steps: [
    (seen) => {
      const release = seen.find(/release (?<name>\d+\.\d+\.\d+-[a-z]+)/)?.["name"] ?? "unknown";
      const lines = [
        `# ${release}`,
        "",
        "- Late readings count for the right day.",
        "- Times are written with the helpers of clock.js.",
        "",
      ];
      return replyWith(
        `That was ${release}.`,
        toolCall("write", { file_path: "CHANGES.md", content: lines.join("\n") }),
        todoCall(5),
      );
    },
    alwaysReply("Done: CHANGES.md has both changes."),
  ],
});

/** For the resumed session: no summary ever held either answer, and one of them was never shown at all. */
export const recallTask = (): ScriptTask => ({
  says: "Two things for the report: what did the test say at first, and what did the log say of QUERN?",
  steps: [
    alwaysReply(
      "Neither is in front of me: I look it up in what was said.",
      toolCall("recall", { query: '"Expected values to be strictly equal"' }),
      toolCall("recall", { query: "bulletin QUERN DISAGREES" }),
    ),
    (seen) => {
      const error = seen.find(/(?<error>\d+ !== \d+)/)?.["error"];
      const log = seen.find(/(?<log>\d\d:\d\d:\d\d bulletin QUERN .*DISAGREES)/)?.["log"];
      if (error === undefined || log === undefined) return expandHits(seen);
      return replyWith(`The test said “${error}”. The log said “${log}”.`);
    },
  ],
});

/** Recalls in full the results of which the hits quote only a line. */
function expandHits(seen: RequestContents): StepReply {
  const ids = seen.findAll(/^(?:result|call) (?<id>[^\s,]+), of bash/).map(({ id = "" }) => id);
  const calls = ids.slice(0, 2).map((id) => toolCall("recall", { id, limit: 5_000 }));
  return { ...replyWith("The whole of what was found.", ...calls), step: "waits" };
}

/** The task during which the session is killed. */
export const watchTask = (): ScriptTask => ({
  says: "Watch the gauges for a while.",
  steps: [alwaysReply("I watch them.", bashCall(longCommand))],
});
