import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/threat-model.md"), "utf8");
const named = [...page.matchAll(/`((?:packages|test)\/[^`]+\.ts)` “([^”]+)”/g)].map(([, file = "", name = ""]) => ({
  file,
  name,
}));
/** Code breaks a long name nowhere, and a table of the page nowhere either. */
const sourceOf = (file: string): string => (existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "");

it("every attacker of docs/threat-model.md has a test that shows what holds it", () => {
  const attackers = page.split(/^## /m).filter((section) => section.includes("| shown by"));
  expect(attackers).toHaveLength(6);
  const rows = attackers.flatMap((section) =>
    section.split("\n").filter((line) => /^\| (?!-|what it tries)/.test(line)),
  );
  expect(rows.filter((row) => !/`(?:packages|test)\/[^`]+\.ts` “/.test(row))).toEqual([]);
});

it.each(named)("the test that docs/threat-model.md names is there: $file “$name”", ({ file, name }) => {
  expect(sourceOf(file)).toContain(name);
});
