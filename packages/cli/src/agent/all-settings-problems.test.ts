import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { readSettings } from "../settings/read-settings.ts";
import { allSettingsProblems, unreadableDenyRules } from "./all-settings-problems.ts";

async function readingOf(said: unknown, env: Readonly<Record<string, string>> = {}) {
  const home = await temporaryFolder();
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "settings.json"), JSON.stringify(said));
  return await readSettings({ home, root: undefined, env });
}

const bans = ["Bash(rm:*)"];

test.each<[unknown, string]>([
  [{ permissions: { Deny: bans } }, "permissions.Deny"],
  [{ permissions: { denied: bans } }, "permissions.denied"],
  [{ permissions: { allowed: bans } }, "permissions.allowed"],
  [{ permissions: { "permissions.deny": bans } }, "permissions.permissions.deny"],
  [{ Permissions: { deny: bans } }, "Permissions"],
  [{ "Permissions.deny": bans }, "Permissions.deny"],
  [{ "permissions.Ask": bans }, "permissions.Ask"],
  [{ permissions: bans }, "permissions"],
  [{ permissions: { deny: "Bash" } }, "permissions.deny"],
  [{ permissions: { deny: [7] } }, "permissions.deny[0]"],
  [{ permissions: { deny: ["Bash(rm"] } }, "permissions.deny"],
  [{ permissions: { ask: ["Grep(x)"] } }, "permissions.ask"],
  [{ permissions: { deny: ["WebFitch(domain:x)"] } }, "permissions.deny"],
  [{ sandbox: "requierd" }, "sandbox"],
  [{ sandbox: true }, "sandbox"],
  [{ Sandbox: "required" }, "Sandbox"],
])("what may have been meant to forbid and can't be read: %j", async (said, key) => {
  expect(unreadableDenyRules(await readingOf(said)).map((problem) => problem.key)).toEqual([key]);
});

test.each<[unknown, readonly string[]]>([
  [{ permissions: { deny: bans, ask: ["Read(x)"] } }, []],
  [{ permissions: { deny: ["WebFetch(domain:x)", "Task(Explore)"], ask: ["Skill(a b)", "NotebookEdit(x/**)"] } }, []],
  [{ permissions: { deny: ["BashOutput", "KillShell"], allow: ["Skill(a)", "BashOutput"] } }, []],
  [{ permissions: { additionalDirectories: ["../x"] } }, ["warning permissions.additionalDirectories"]],
  [{ permissions: { allow: ["WebFetch(domain:x)"] } }, []],
  [{ permissions: { allow: ["WebFetch(x)"] } }, ["warning permissions.allow"]],
  [{ permissions: { allow: [7] } }, ["error permissions.allow[0]"]],
  [{ permissions: { Allow: bans } }, ["error permissions.Allow"]],
  [{ permissions: { defaultMode: "none" } }, ["error permissions.defaultMode"]],
])("no deny rule is lost: %j", async (said, problems) => {
  const reading = await readingOf(said);
  expect(unreadableDenyRules(reading)).toEqual([]);
  expect(allSettingsProblems(reading).map(({ severity, key }) => `${severity} ${key}`)).toEqual(problems);
});

test("a variable that asks for a sandbox in a word that is none", async () => {
  const reading = await readingOf({}, { PALIMPSEST_SANDBOX: "requierd" });
  expect(unreadableDenyRules(reading).map(({ where }) => where)).toEqual(["environment PALIMPSEST_SANDBOX"]);
  expect(unreadableDenyRules(await readingOf({}, { PALIMPSEST_SANDBOX: "required" }))).toEqual([]);
});
