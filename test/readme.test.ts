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

it("the figures of the README's picture and of its words are those that the demo prints", () => {
  const { stdout } = spawnSync(process.execPath, [join(root, "bin/palimpsest"), "demo"], { encoding: "utf8" });
  const shown = [...stdout.matchAll(/tokens +(?<figures>[\d,]+ → [\d,]+)/g)].map(
    (one) => one.groups?.["figures"] ?? "",
  );
  const [first = "none", last = "none"] = [shown.at(0)?.split(" → ")[0], shown.at(-1)?.split(" → ")[1]];
  expect(read("README.md")).toContain(
    `a session of ${first} tokens is offloaded, cleared and compacted to ${last} tokens`,
  );
  const picture = read("docs/picture/demo.svg").replaceAll(/<[^>]*>/g, "");
  for (const figures of shown) expect(picture).toContain(figures);
});

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
