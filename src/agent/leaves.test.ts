import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/contract/temporary-folder.ts";
import { createEngine } from "../engine.ts";
import { leavesFor } from "./leaves.ts";
import type { ToolChoice } from "./tool-choice.ts";

async function leaves(trust: "trusted" | "untrusted") {
  const folder = await temporaryFolder();
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  await Promise.all([mkdir(home), mkdir(project)]);
  const trustedProjects = trust === "trusted" ? [project] : [];
  await writeFile(join(home, "settings.json"), JSON.stringify({ trustedProjects }));
  const engine = createEngine({ env: { PALIMPSEST_HOME: home }, cwd: project });
  let choice: ToolChoice = { mode: "default", allow: ["Edit"], ask: [], deny: [] };
  let allowed: readonly string[] = [];
  const made = leavesFor({ engine, flags: [], choice: () => choice, inSettings: () => allowed });
  return {
    ...made,
    /** What those who follow the settings hear of. */
    hear: (rules: readonly string[]) => {
      allowed = rules;
      choice = { ...choice };
    },
    local: join(project, ".palimpsest", "settings.local.json"),
    change: (now: ToolChoice) => {
      choice = now;
    },
  };
}

test("what a person allows counts from then on, and stays when the settings change", async () => {
  const { choice, allowAlways, change } = await leaves("untrusted");
  const before = choice();
  expect(await allowAlways({ rule: "Bash(make:*)", scope: "session" })).toEqual({ kind: "kept" });
  expect(await allowAlways({ rule: "Bash(make:*)", scope: "session" })).toEqual({ kind: "kept" });
  expect([before.allow, choice().allow]).toEqual([["Edit"], ["Edit", "Bash(make:*)"]]);
  expect(choice()).toBe(choice());
  change({ mode: "default", allow: [], ask: [], deny: ["Bash(rm:*)"] });
  expect(choice()).toMatchObject({ allow: ["Bash(make:*)"], deny: ["Bash(rm:*)"] });
});

test.each(["Bash(make", "nosuchtool", ""])("what is no rule counts for nothing: %j", async (rule) => {
  const { choice, allowAlways, local } = await leaves("trusted");
  expect((await allowAlways({ rule, scope: "local" })).kind).toBe("wrong");
  expect(choice().allow).toEqual(["Edit"]);
  await expect(readFile(local)).rejects.toThrow("ENOENT");
});

test("a rule that is to stay is written for the owner's eyes only", async () => {
  const { choice, allowAlways, local } = await leaves("trusted");
  expect(await allowAlways({ rule: "Bash(make:*)", scope: "local" })).toEqual({ kind: "kept" });
  expect(await readFile(local, "utf8")).toContain('"Bash(make:*)"');
  expect((await stat(local)).mode & 0o777).toBe(0o600);
  expect(choice().allow).toContain("Bash(make:*)");
});

test("a rule that was written down counts until it is taken out of the settings", async () => {
  const { choice, allowAlways, hear } = await leaves("trusted");
  const rule = "Bash(make:*)";
  await allowAlways({ rule, scope: "local" });
  hear([]);
  expect(choice().allow).toContain(rule);
  hear([rule]);
  expect(choice().allow).toContain(rule);
  hear([]);
  expect(choice().allow).not.toContain(rule);
  await allowAlways({ rule, scope: "session" });
  hear([]);
  expect(choice().allow).toContain(rule);
});

test.each([
  ["trusted", /^written into .*settings\.local\.json$/],
  [
    "untrusted",
    /^for this session; .*settings\.local\.json keeps it, .*settings\.json has "trustedProjects": \["\/.*"\]$/,
  ],
] as const)("what becomes of a rule is told before it is given, in a project that is %s", async (trust, words) => {
  const { projectLeave } = await leaves(trust);
  expect(await projectLeave?.()).toMatch(words);
});

test("in a project that nobody trusts the person is told that it counts only now", async () => {
  const { choice, allowAlways } = await leaves("untrusted");
  const kept = await allowAlways({ rule: "Bash(make:*)", scope: "local" });
  expect(kept.kind === "kept" ? kept.warning : kept).toContain("trustedProjects");
  expect(choice().allow).toContain("Bash(make:*)");
});
