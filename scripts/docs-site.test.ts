import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

it("the documentation replaces no folder that it did not write", () => {
  const folder = mkdtempSync(join(tmpdir(), "docs-site-"));
  writeFileSync(join(folder, "thesis.txt"), "years of work");
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, "docs-site.ts"), folder]);
  expect(status).toBe(1);
  expect(stderr.toString()).toContain("name another folder");
  expect(readdirSync(folder)).toEqual(["thesis.txt"]);
  rmSync(folder, { recursive: true });
});
