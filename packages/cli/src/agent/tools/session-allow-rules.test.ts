import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { openWorkspace } from "../../host/workspace.ts";
import { openSessionAllowRules } from "./session-allow-rules.ts";
import type { PermissionChoice } from "./permission-choice.ts";

async function leaves() {
  const folder = await temporaryFolder();
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  await Promise.all([mkdir(home), mkdir(project)]);
  const own = join(home, "settings.json");
  await writeFile(own, JSON.stringify({ model: "x" }), { mode: 0o600 });
  const workspace = openWorkspace({ env: { PALIMPSEST_HOME: home }, cwd: project });
  let choice: PermissionChoice = { mode: "default", allow: ["Edit"], ask: [], deny: [] };
  let allowed: readonly string[] = [];
  const made = openSessionAllowRules({ workspace, flags: [], choice: () => choice, inSettings: () => allowed });
  return {
    ...made,
    /** What those who follow the settings hear of. */
    hear: (rules: readonly string[]) => {
      allowed = rules;
      choice = { ...choice };
    },
    own,
    project,
    /** What a session that is opened later would be allowed. */
    later: async () => (await workspace.settings()).reading.settings["permissions.allow"].value,
    change: (now: PermissionChoice) => {
      choice = now;
    },
  };
}

test("what the user allows counts from then on, and stays when the settings change", async () => {
  const { choice, allowAlways, change } = await leaves();
  const before = choice();
  expect(await allowAlways({ rules: ["Bash(make:*)"], scope: "session" })).toEqual({ kind: "kept" });
  expect(await allowAlways({ rules: ["Bash(make:*)"], scope: "session" })).toEqual({ kind: "kept" });
  expect([before.allow, choice().allow]).toEqual([["Edit"], ["Edit", "Bash(make:*)"]]);
  expect(choice()).toBe(choice());
  change({ mode: "default", allow: [], ask: [], deny: ["Bash(rm:*)"] });
  expect(choice()).toMatchObject({ allow: ["Bash(make:*)"], deny: ["Bash(rm:*)"] });
});

test.each(["Bash(make", "nosuchtool", ""])("what is no rule counts for nothing: %j", async (rule) => {
  const { choice, allowAlways, own } = await leaves();
  expect((await allowAlways({ rules: [rule], scope: "project" })).kind).toBe("wrong");
  expect(choice().allow).toEqual(["Edit"]);
  expect(await readFile(own, "utf8")).toBe('{"model":"x"}');
});

test("a rule that is to stay is written into the user's own settings for the project, and counts without trust", async () => {
  const { choice, allowAlways, own, project, later } = await leaves();
  expect(await allowAlways({ rules: ["Bash(make:*)"], scope: "project" })).toEqual({ kind: "kept" });
  expect(JSON.parse(await readFile(own, "utf8"))).toEqual({
    model: "x",
    projects: { [project]: { permissions: { allow: ["Bash(make:*)"] } } },
  });
  expect((await stat(own)).mode & 0o777).toBe(0o600);
  expect(choice().allow).toContain("Bash(make:*)");
  expect(await later()).toEqual(["Bash(make:*)"]);
  await expect(stat(join(project, ".palimpsest"))).rejects.toThrow("ENOENT");
});

test("a rule that was written down counts until it is taken out of the settings", async () => {
  const { choice, allowAlways, hear } = await leaves();
  const rule = "Bash(make:*)";
  await allowAlways({ rules: [rule], scope: "project" });
  hear([]);
  expect(choice().allow).toContain(rule);
  hear([rule]);
  expect(choice().allow).toContain(rule);
  hear([]);
  expect(choice().allow).not.toContain(rule);
  await allowAlways({ rules: [rule], scope: "session" });
  hear([]);
  expect(choice().allow).toContain(rule);
});

test("where a rule is kept is said before it is given", async () => {
  const { describeProjectRule: projectLeave, own, project } = await leaves();
  expect(await projectLeave?.()).toBe(`kept in ${own} for ${project}`);
});

test("a rule that can't be written down counts in this session, and the user is told", async () => {
  const { choice, allowAlways, own } = await leaves();
  await writeFile(own, "{");
  const kept = await allowAlways({ rules: ["Bash(make:*)"], scope: "project" });
  expect(kept.kind === "kept" ? kept.warning : kept).toMatch(/^What you allowed counts only while.*not valid JSON/);
  expect(choice().allow).toContain("Bash(make:*)");
});
