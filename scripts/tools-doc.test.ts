import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { toolsPage, withInputs } from "./tools-doc.ts";

it("docs/tools.md lists every input as the schemas have it (node scripts/tools-doc.ts writes it)", () => {
  const page = readFileSync(toolsPage, "utf8");
  expect(page).toBe(withInputs(page));
  expect(page).toContain("| `bash`");
});
