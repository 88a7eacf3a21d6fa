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
  editCall,
  readCall,
  type ScriptStep,
  whenFileSeen,
} from "./scripted-model.ts";

/** A number of milliseconds as somebody wrote it: `45 * 60_000`. */
const bareMillis = /(?<count>\d+) \* (?<unit>60_000|3_600_000|86_400_000)\b/;

const helperByUnit: ReadonlyMap<string, string> = new Map([
  ["60_000", "minutes"],
  ["3_600_000", "hours"],
  ["86_400_000", "days"],
]);

const searchCall = toolCall("grep", {
  pattern: String.raw`\d \* (60_000|3_600_000|86_400_000)\b`,
  path: "src",
  output: "content",
});

export const tidyTask = (): ScriptTask => ({
  says: "Then no module should reckon with bare milliseconds any more. Put all of them on the helpers of src/clock.js. Show me a plan first.",
  steps: tidySteps(),
});

/** Each module that grep finds is read and changed; how many there are it says itself. */
const tidySteps = (): readonly ScriptStep[] => [
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
  whenSeen({
    pattern: /^ℹ pass (?<passed>\d+)\nℹ fail 0$/,
    look: bashCall(testCommand),
    play: ({ passed = "" }) => replyWith(`The search finds nothing any more, and all ${passed} tests pass.`),
  }),
];

const moduleSteps = (path: string): readonly ScriptStep[] => [
  alwaysReply("", readCall(path)),
  whenFileSeen(path, (text) => replyWith("", ...editCalls(path, text))),
];

function editCalls(path: string, text: string): readonly ReturnType<typeof toolCall>[] {
  const lines = text.split("\n").filter((line) => bareMillis.test(line));
  const helpers = new Set<string>();
  const changes = [...new Set(lines)].map((from) => {
    const to = from.replaceAll(new RegExp(bareMillis.source, "g"), (_, count: string, unit: string) => {
      const helper = helperByUnit.get(unit) ?? "minutes";
      helpers.add(helper);
      return `${helper}(${count})`;
    });
    return editCall({ path, from, to });
  });
  return [...changes, editCall({ path, ...importEdit(text, helpers) })];
}

/** Into the import that there is, or below the line that says what the module is. */
function importEdit(text: string, helpers: ReadonlySet<string>): { readonly from: string; readonly to: string } {
  const there = /^import \{ (?<names>[^}]+) \} from "\.\/clock\.js";$/m.exec(text);
  const names = [...(there?.groups?.["names"]?.split(", ") ?? []), ...helpers].toSorted();
  const line = `import { ${names.join(", ")} } from "./clock.js";`;
  if (there !== null) return { from: there[0], to: line };
  const [first = ""] = text.split("\n", 1);
  return { from: first, to: `${first}\n\n${line}` };
}

export const fixTask = (): ScriptTask => ({
  says: `A test fails since this morning. Find out why and fix it, the way this project does that. It goes into release ${releaseName}: remember the name, I will need it.`,
  steps: [...findCauseSteps(), ...changeSteps()],
});

/** From the test that fails to the line that is wrong, by what each file imports. */
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
    pattern: /highest \} = (?<made>\w+)\(/,
    look: readCall("test/bulletin.test.js"),
    play: ({ made = "" }, seen) => {
      const path = seen.find(importPattern(made))?.["path"] ?? "index";
      return replyWith(
        `The level comes from \`${made}\`. The test itself is right, so I follow the import.`,
        readCall(`src/${path}.js`),
      );
    },
  }),
  whenSeen({
    pattern: /const extreme = (?<made>\w+)\(/,
    look: readCall("src/bulletin.js"),
    play: ({ made = "" }, seen) => {
      const path = seen.find(importPattern(made))?.["path"] ?? "index";
      const words = `Nothing wrong here: it takes what \`${made}\` gives. One hop further, and the readings themselves.`;
      return replyWith(words, readCall(`src/${path}.js`), readCall("data/harrow-2026-03-14.txt"));
    },
  }),
  whenSeen({
    pattern: /Map\.groupBy\(readings, .*=> (?<made>\w+)\(/,
    look: readCall("src/days.js"),
    play: ({ made = "" }, seen) => {
      const level = seen.find(/highest\.levelCm, (?<level>\d+)\)/)?.["level"] ?? "What is wanted";
      const time = seen.find(new RegExp(`T(?<time>[\\d:]+)Z HARROW ${level}$`))?.["time"] ?? "some time";
      return replyWith(
        `${level} cm were measured at ${time} UTC, which is after midnight at the gauge. So which day does \`${made}\` say that is?`,
        toolCall("grep", { pattern: `function ${made}\\(`, path: "src", output: "content" }),
      );
    },
  }),
  whenSeen({
    pattern: /^(?<path>src\/[\w-]+\.js):\d+:export function localDay/,
    look: toolCall("grep", { pattern: "function localDay\\(", path: "src", output: "content" }),
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
  whenSeen({
    pattern: /^ℹ pass (?<passed>\d+)\nℹ fail 0$/,
    look: bashCall(testCommand),
    play: ({ passed = "" }) =>
      replyWith(
        `Fixed: all ${passed} tests pass. \`localDay\` in src/clock.js ${pinnedText}. The test that failed is two modules away from it.`,
      ),
  }),
];

const newTestText = `  it("has begun in the east shortly before midnight UTC", () => {
    assert.equal(localDay(Date.parse("2026-03-14T23:00Z"), 60), "2026-03-15");
  });`;

const importPattern = (name: string): RegExp =>
  new RegExp(String.raw`^import \{[^}]*\b${name}\b[^}]*\} from "(?:\.\.\/src|\.)\/(?<path>[\w-]+)\.js"`);

const todoNames = [
  "run all tests",
  "follow the imports to the cause",
  "change the cause alone",
  "add a test beside it",
];

/** The first so many are done. */
const todoCall = (done: number): ReturnType<typeof toolCall> =>
  toolCall("todo", {
    todos: [...todoNames, `note the change for ${releaseName}`].map((content, at) => ({
      content,
      status: at < done ? "completed" : at === done ? "in_progress" : "pending",
    })),
  });

/** The session, message by message. */
export const sessionTasks = (): readonly ScriptTask[] => [fixTask(), logTask(), tidyTask(), changelogTask()];

export const logTask = (): ScriptTask => ({
  says: `Did the night's log show it already? It is ${nightLogPath}.`,
  steps: [
    alwaysReply("The whole log.", { ...bashCall(`cat ${nightLogPath}`), id: nightLogCallId }),
    alwaysReply(
      "That is too much to look through by eye.",
      toolCall("grep", { pattern: "DISAGREES", path: nightLogPath, output: "content", head_limit: 1 }),
    ),
    whenSeen({
      pattern:
        /(?<time>\d\d:\d\d:\d\d) bulletin (?<station>\w+) [\d-]+ says (?<said>\d+) cm, its gauge (?<real>\d+) cm/,
      look: toolCall("grep", { pattern: "DISAGREES", path: nightLogPath, output: "content", head_limit: 1 }),
      play: ({ time = "", station = "", said = "", real = "" }) =>
        replyWith(`Yes, at ${time}: the bulletin of ${station} said ${said} cm and its gauge ${real} cm.`),
    }),
  ],
});

export const changelogTask = (): ScriptTask => ({
  says: "Good. Now CHANGES.md, with the release that I named.",
  steps: [
    (seen) => {
      const named = seen.find(/release (?<name>\d+\.\d+\.\d+-[a-z]+)/)?.["name"] ?? "unknown";
      const lines = [
        `# ${named}`,
        "",
        "- Late readings count for the right day.",
        "- Times are written with the helpers of clock.js.",
        "",
      ];
      return replyWith(
        `That was ${named}.`,
        toolCall("write", { file_path: "CHANGES.md", content: lines.join("\n") }),
        todoCall(5),
      );
    },
    alwaysReply("Done: CHANGES.md has both changes."),
  ],
});

/** Asked when the session has been resumed: neither answer was ever in a summary, and one was never shown at all. */
export const recallTask = (): ScriptTask => ({
  says: "Two things for the report: what did the test say at first, and what did the log say of QUERN?",
  steps: [
    alwaysReply(
      "Neither is in front of me: I look it up in what was said.",
      toolCall("recall", { query: '"Expected values to be strictly equal"' }),
      toolCall("recall", { query: "bulletin QUERN DISAGREES" }),
    ),
    (seen) => {
      const said = seen.find(/(?<said>\d+ !== \d+)/)?.["said"];
      const log = seen.find(/(?<log>\d\d:\d\d:\d\d bulletin QUERN .*DISAGREES)/)?.["log"];
      if (said === undefined || log === undefined) return expandHits(seen);
      return replyWith(`The test said “${said}”. The log said “${log}”.`);
    },
  ],
});

/** What the hits only quote a line of, in full. */
function expandHits(seen: RequestContents): StepReply {
  const ids = seen.findAll(/^(?:result|call) (?<id>[^\s,]+), of bash/).map(({ id = "" }) => id);
  const calls = ids.slice(0, 2).map((id) => toolCall("recall", { id, limit: 5_000 }));
  return { ...replyWith("The whole of what was found.", ...calls), step: "waits" };
}

/** What the session is in the middle of when it is killed. */
export const watchTask = (): ScriptTask => ({
  says: "Watch the gauges for a while.",
  steps: [alwaysReply("I watch them.", bashCall(longCommand))],
});
