import { execFile, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { served } from "./scenario/support/simulated.ts";

const root = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

it("the README's snippet is the beginning of an example that runs", () => {
  const snippet = /```ts\n(?<code>[\s\S]*?)```/.exec(read("README.md"))?.groups?.["code"] ?? "none";
  const example = read("examples/01-minimal.ts").replace('"../src/index.ts"', '"palimpsest"');
  expect(example.startsWith(snippet)).toBe(true);
});

it("every link of the README leads to a file", () => {
  const links = [...read("README.md").matchAll(/\]\((?<path>[^)#:]+)\)/g)].map((match) => match.groups?.["path"] ?? "");
  expect(links.length).toBeGreaterThan(5);
  for (const link of links) expect(() => read(link), link).not.toThrow();
});

it("the figures of the README's words and picture are those that the demo prints", () => {
  const { stdout } = spawnSync(process.execPath, [join(root, "bin/palimpsest"), "demo"], { encoding: "utf8" });
  const words = read("README.md").replaceAll(/\s+/g, " ");
  const picture = unescaped(read("docs/picture/demo.svg").replaceAll(/<[^>]*>/g, ""));
  const [window = "none"] = /window of [\d,]+ tokens/.exec(stdout) ?? [];
  const [rounds = "none"] = /\d+ rounds/.exec(stdout) ?? [];
  expect(words).toContain(`${rounds} in a ${window}`);
  expect(picture).toContain(window);
  expect(picture).toContain(rounds);
  const [managed, unmanaged] = ["managed", "unmanaged"].map((name) =>
    Number(new RegExp(`^  ${name} +\\$(\\S+)`, "m").exec(stdout)?.[1]),
  );
  const said = /that costs \$(?<managed>[\d.]+);.*?, \$(?<unmanaged>\d+\.\d+)/.exec(words)?.groups;
  // Ids and the length of the temporary folder's path move them a little.
  expect(Number(said?.["managed"]) / Number(managed)).toBeCloseTo(1, 1);
  expect(Number(said?.["unmanaged"]) / Number(unmanaged)).toBeCloseTo(1, 1);
  expect(claimsIn(stdout).length).toBeGreaterThan(20);
  for (const line of claimsIn(stdout)) expect(claimsIn(picture)).toContain(line);
});

const unescaped = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");

/** What is said before the receipts of single steps, whatever the figures. */
const claimsIn = (output: string): readonly string[] =>
  (/^1 {2}[\s\S]*?^5 {2}/m.exec(output)?.[0] ?? "")
    .split("\n")
    .filter((line) => !line.startsWith("  round "))
    .map((line) => line.replaceAll(/\d[\d,]*/g, "#"));

it.each(globSync("examples/[0-9]*.ts", { cwd: root }).toSorted())("%s runs", (example) => {
  const ran = spawnSync(process.execPath, [join(root, example)], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  expect(ran.status).toBe(0);
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

it.skipIf(!hasCurl)("the README's curl gets an answer from the simulator (needs curl)", async () => {
  const { url } = await served();
  const [command = ""] = /curl http[\s\S]*?'\n(?=```)/.exec(read("README.md")) ?? [];
  const here = command.replace("http://127.0.0.1:8787", url).replace("curl ", "curl --silent ");
  const answer = await promisify(execFile)("sh", ["-c", here]);
  expect(JSON.parse(answer.stdout)).toMatchObject({ type: "message", content: [{ type: "text" }] });
});
