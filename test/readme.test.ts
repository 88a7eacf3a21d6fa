import { sourceFlag } from "./scenario/support/command-line.ts";
import { execFile, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { served } from "./scenario/support/simulated.ts";

const root = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

it("the README's first snippet is an example that runs, but for the model", () => {
  const snippet = /```ts\n(?<code>[\s\S]*?)```/.exec(read("README.md"))?.groups?.["code"] ?? "none";
  const example = read("examples/01-conversation.ts")
    .replace('import { run, simulated } from "./simulated.ts";', 'import { run } from "./tools.ts"; // yours')
    .replace("new Anthropic(simulated)", "new Anthropic()");
  expect(example).toBe(snippet);
});

it("every link of the README leads to a file", () => {
  const links = [...read("README.md").matchAll(/\]\((?<path>[^)#:]+)\)/g)].map((match) => match.groups?.["path"] ?? "");
  expect(links.length).toBeGreaterThan(5);
  for (const link of links) expect(() => read(link), link).not.toThrow();
});

/** The demo starts several processes: beside other tests they share the cores. */
const demoMillisMax = 180_000;

it(
  "the figures of the README's words are those that the demo prints, and its picture is how that begins",
  { timeout: demoMillisMax },
  () => {
    const env = { ...process.env, FORCE_COLOR: "1", NO_COLOR: "", COLUMNS: "80" };
    const ran = spawnSync(process.execPath, [sourceFlag, join(root, "examples/demo/demo.ts")], {
      encoding: "utf8",
      env,
    });
    const stdout = stripVTControlCharacters(ran.stdout);
    const words = read("README.md").replaceAll(/\s+/g, " ");
    const [window = "none"] = /window of [\d,]+ tokens/.exec(stdout) ?? [];
    const rounds = /(?<rounds>\d+ rounds), none over/.exec(stdout)?.groups?.["rounds"] ?? "none";
    expect(words).toContain(`${rounds} in a ${window}`);
    const [managed, unmanaged] = ["managed", "unmanaged"].map((name) =>
      Number(new RegExp(`^  ${name} +\\$(\\S+)`, "m").exec(stdout)?.[1]),
    );
    const said = /that costs \$(?<managed>[\d.]+);.*?, \$(?<unmanaged>\d+\.\d+)/.exec(words)?.groups;
    // Ids and the durations of the tests move them a little.
    expect(Number(said?.["managed"]) / Number(managed)).toBeCloseTo(1, 1);
    expect(Number(said?.["unmanaged"]) / Number(unmanaged)).toBeCloseTo(1, 1);
    const picture = linesOf(unescaped(read("docs/picture/demo.svg").replaceAll(/<[^>]*>/g, ""))).filter(
      (line) => line !== "…",
    );
    const [, ...drawn] = picture;
    expect(drawn.length).toBeGreaterThan(30);
    expect(linesOf(stdout).slice(0, drawn.length)).toEqual(drawn);
  },
);

const unescaped = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");

/** Without empty ones and whatever the figures. */
const linesOf = (output: string): readonly string[] =>
  output
    .replaceAll(/\d[\d,]*/g, "#")
    .split("\n")
    .filter((line) => line.trim() !== "");

it.each(globSync("examples/[0-9]*.ts", { cwd: root }).toSorted())("%s runs", (example) => {
  const ran = spawnSync(process.execPath, [sourceFlag, join(root, example)], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  expect(ran.status).toBe(0);
});

it("the second example shows a refusal that is answered, and summaries that a smaller model wrote", () => {
  const ran = spawnSync(process.execPath, [sourceFlag, join(root, "examples/02-stream-and-summarizer.ts")], {
    encoding: "utf8",
  });
  const kinds = new Set(ran.stdout.split("\n").map((line) => line.split(":")[0]));
  expect([...kinds]).toEqual(expect.arrayContaining(["refused", "compacted", "cleared"]));
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

it.skipIf(!hasCurl)("the README's curl gets an answer from the simulator (needs curl)", async () => {
  const { url } = await served();
  const [command = ""] = /curl http[\s\S]*?'\n(?=```)/.exec(read("README.md")) ?? [];
  const here = command.replace("http://127.0.0.1:8787", url).replace("curl ", "curl --silent ");
  const answer = await promisify(execFile)("sh", ["-c", here]);
  expect(JSON.parse(answer.stdout)).toMatchObject({ type: "message", content: [{ type: "text" }] });
});
