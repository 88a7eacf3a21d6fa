import { testCommand } from "./facts.ts";
import { act, always, bash, call, edit, knowing, knowingFile, read, type Step, type Task } from "./step.ts";

/** A number of milliseconds as somebody wrote it: `45 * 60_000`. */
const bare = /(?<count>\d+) \* (?<unit>60_000|3_600_000|86_400_000)\b/;

const helperByUnit: ReadonlyMap<string, string> = new Map([
  ["60_000", "minutes"],
  ["3_600_000", "hours"],
  ["86_400_000", "days"],
]);

const look = call("grep", {
  pattern: String.raw`\d \* (60_000|3_600_000|86_400_000)\b`,
  path: "src",
  output: "content",
});

export const tidying = (): Task => ({
  says: "Then no module should reckon with bare milliseconds any more. Put all of them on the helpers of src/clock.js. Show me a plan first.",
  steps: naming(),
});

/** Each module that grep finds is read and changed; how many there are it says itself. */
const naming = (): readonly Step[] => [
  always("Where that is done:", look),
  (seen) => {
    const paths = new Set(seen.findAll(/^(?<path>src\/[\w-]+\.js):\d+:/).map(({ path = "" }) => path));
    if (paths.size === 0) return { ...act("Once more.", look), step: "waits" };
    const plan = [
      "# Times by their names",
      "",
      ...[...paths].map((path) => `- ${path}: its bare milliseconds become helpers of src/clock.js`),
      "",
      "No level, no limit and no test is changed. At the end all tests run, and the search finds nothing.",
    ].join("\n");
    return {
      ...act(`${paths.size} modules do that. The plan:`, call("plan", { plan })),
      follows: [...paths].flatMap(repaired),
    };
  },
  always("All of them are done. Whether anything is left, and the tests:", look, bash(testCommand)),
  knowing({
    pattern: /^ℹ pass (?<passed>\d+)\nℹ fail 0$/,
    look: bash(testCommand),
    play: ({ passed = "" }) => act(`The search finds nothing any more, and all ${passed} tests pass.`),
  }),
];

const repaired = (path: string): readonly Step[] => [
  always("", read(path)),
  knowingFile(path, (text) => act("", ...changesOf(path, text))),
];

function changesOf(path: string, text: string): readonly ReturnType<typeof call>[] {
  const lines = text.split("\n").filter((line) => bare.test(line));
  const helpers = new Set<string>();
  const changes = [...new Set(lines)].map((from) => {
    const to = from.replaceAll(new RegExp(bare.source, "g"), (_, count: string, unit: string) => {
      const helper = helperByUnit.get(unit) ?? "minutes";
      helpers.add(helper);
      return `${helper}(${count})`;
    });
    return edit({ path, from, to });
  });
  return [...changes, edit({ path, ...importOf(text, helpers) })];
}

/** Into the import that there is, or below the line that says what the module is. */
function importOf(text: string, helpers: ReadonlySet<string>): { readonly from: string; readonly to: string } {
  const there = /^import \{ (?<names>[^}]+) \} from "\.\/clock\.js";$/m.exec(text);
  const names = [...(there?.groups?.["names"]?.split(", ") ?? []), ...helpers].toSorted();
  const line = `import { ${names.join(", ")} } from "./clock.js";`;
  if (there !== null) return { from: there[0], to: line };
  const [first = ""] = text.split("\n", 1);
  return { from: first, to: `${first}\n\n${line}` };
}
