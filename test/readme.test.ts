import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

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
