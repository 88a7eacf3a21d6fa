import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { presetsPage, withPresets } from "./presets-doc.ts";

it("docs/presets.md says what the policies say (node scripts/presets-doc.ts writes it)", () => {
  const page = readFileSync(presetsPage, "utf8");
  expect(page).toBe(withPresets(page));
});
