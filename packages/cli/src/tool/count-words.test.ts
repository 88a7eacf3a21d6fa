import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolbox } from "../../../../test/fixture/toolbox.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

test.each<[string, JsonObject, string]>([
  ["read", { path: "one" }, "1 line"],
  ["read", { path: "two" }, "2 lines"],
  ["grep", { pattern: "apple", output: "content" }, "1 match"],
  ["grep", { pattern: "pear", output: "content" }, "2 matches"],
  ["grep", { pattern: "apple" }, "1 file"],
  ["glob", { pattern: "*" }, "2 files"],
  ["glob", { pattern: "none" }, "0 files"],
])("%s %j: %s", async (name, input, summary) => {
  const box = await toolbox();
  await writeFile(join(box.project, "one"), "pear\n");
  await writeFile(join(box.project, "two"), "apple\npear\n");
  expect(await box.call(name, input)).toMatchObject({ outcome: { summary } });
});
