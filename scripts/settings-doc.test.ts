import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { settingsPage, withTables } from "./settings-doc.ts";

it("docs/settings.md says what the table of settings says (node scripts/settings-doc.ts writes it)", () => {
  const page = readFileSync(settingsPage, "utf8");
  expect(page).toBe(withTables(page));
});
