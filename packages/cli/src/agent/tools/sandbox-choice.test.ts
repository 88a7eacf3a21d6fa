import { expect, test } from "vitest";
import type { Sandbox, SandboxSearchOutcome } from "palimpsest/internal/ports/sandbox";
import type { SandboxMode } from "palimpsest/internal/schema/setting-table";
import { resolveSettings } from "palimpsest/internal/settings/resolve-settings";
import { followSandboxSetting } from "./jobs-and-servers.ts";

const sandbox: Sandbox = { system: "bubblewrap", enter: async () => ({ kind: "refused", why: "not in this test" }) };
const found: SandboxSearchOutcome = { kind: "found", sandbox };
const none: SandboxSearchOutcome = { kind: "none", why: "bwrap is not on PATH", remedy: "install bubblewrap" };
const { kind: _, ...reason } = none;

const settingsWith = (value: SandboxMode) =>
  resolveSettings([{ givenByName: new Map([["sandbox", { value, source: "user", from: "settings.json" }]]) }]);

test.each([
  ["auto", found, { kind: "held", sandbox }],
  ["required", found, { kind: "held", sandbox }],
  ["off", found, { kind: "unheld", because: "off" }],
  ["auto", none, { kind: "unheld", because: "absent", ...reason }],
  ["required", none, { kind: "refused", ...reason }],
  ["off", none, { kind: "unheld", because: "off" }],
] as const)("with %s and %o commands run as %o", (mode, search, use) => {
  const settings = settingsWith(mode);
  expect(followSandboxSetting(search, () => settings)()).toEqual(use);
});

test("while a session is open a stronger setting counts at once and a weaker one never", () => {
  let mode: SandboxMode = "off";
  const use = followSandboxSetting(none, () => settingsWith(mode));
  expect(use().kind).toBe("unheld");
  mode = "required";
  expect(use().kind).toBe("refused");
  mode = "off";
  expect(use().kind).toBe("refused");
});
