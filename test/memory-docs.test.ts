import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sourceFlag } from "./scenario/support/command-line.ts";

const root = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(root, name), "utf8");

it("the example of docs/memory.md is a file that runs, and prints what the page says", () => {
  const [, code, output] = /```ts\n([\s\S]*?)```\n\nprints\n\n```\n([\s\S]*?)```/.exec(read("docs/memory.md")) ?? [];
  expect(code).toBe(read("examples/08-memory.ts"));
  const printed = execFileSync(process.execPath, [sourceFlag, join(root, "examples/08-memory.ts")], {
    encoding: "utf8",
    cwd: root,
  });
  expect(printed).toBe(output);
});
