import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sourceFlag } from "./scenario/support/command-line.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Run word for word by a test of their own: memory-docs.test.ts, readme.test.ts. */
const runElsewhere = new Set(["docs/memory.md", "README.md"]);
const pages = [...globSync("docs/**/*.md", { cwd: root }), ...globSync("packages/*/README.md", { cwd: root })];
const snippets = pages
  .filter((page) => !runElsewhere.has(page))
  .toSorted()
  .flatMap((page) =>
    [...read(page).matchAll(/^```ts\n(?<code>[\s\S]*?)^```$/gm)].map(({ groups }, at) => ({
      name: `${page}, snippet ${at + 1}`,
      code: groups?.["code"] ?? "",
    })),
  );

/** Without indentation, imports and comments; of the clients only that they are made, since examples have no key. */
const codeLines = (code: string): readonly string[] =>
  code
    .replaceAll(/^import [\s\S]*?;$/gm, "")
    .split("\n")
    .map((line) =>
      line
        .replace(/\s*\/\/ .*$/, "")
        .trim()
        .replace("(simulated)", "()"),
    )
    .filter((line) => line !== "");

const examples = globSync("examples/{,scenarios/}*.ts", { cwd: root })
  .toSorted()
  .map((file) => ({ file, text: `\n${codeLines(read(file)).join("\n")}\n` }));

it.each(["docs-snippets", "migrations"])("examples/%s.ts runs", (name) => {
  const ran = spawnSync(process.execPath, [sourceFlag, join(root, `examples/${name}.ts`)], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  expect(ran.status).toBe(0);
});

describe("every TypeScript snippet of the docs is in an example that runs", () => {
  it.each(snippets)("$name", ({ code }) => {
    const lines = `\n${codeLines(code).join("\n")}\n`;
    expect(
      examples.some(({ text }) => text.includes(lines)),
      lines,
    ).toBe(true);
  });
});

/** As it is whatever the length of a line: without spaces and the comma at the end of a list. */
const compact = (code: string): string =>
  codeLines(code)
    .join("")
    .replaceAll(/\s|,(?=[\]})])|,$/g, "");

it("every line that docs/migration.md removes or adds is in examples/migrations.ts", () => {
  const example = compact(read("examples/migrations.ts"));
  const blocks = [...read("docs/migration.md").matchAll(/^```diff\n(?<lines>[\s\S]*?)^```$/gm)];
  const changes = blocks.flatMap(({ groups }) => (groups?.["lines"] ?? "").split("\n").filter(Boolean));
  expect(changes.length).toBeGreaterThan(12);
  for (const change of changes) expect(example).toContain(compact(change.slice(1)));
});
