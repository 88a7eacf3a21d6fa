import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { palimpsest, type Said } from "./support/command-line.ts";

interface Places {
  readonly user?: object;
  readonly project?: object;
}

/** An agent that touches a file, with these permissions in the settings. */
async function touching({ user, project }: Places, ...args: readonly string[]): Promise<Said & { touched: boolean }> {
  const folder = await temporaryFolder();
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const [place, permissions] of [
    [home, user],
    [join(cwd, ".palimpsest"), project],
  ] as const) {
    mkdirSync(place, { recursive: true });
    if (permissions !== undefined) writeFileSync(join(place, "settings.json"), JSON.stringify({ permissions }));
  }
  const call = "{ name: bash, input: { command: touch made } }";
  writeFileSync(join(cwd, "s.yaml"), `name: s\nmoves:\n  - tools: [${call}]\n  - text: Done.\n`);
  const said = await palimpsest({ home, cwd }, "-p", "Go", "--model", "simulator", "--scenario", "s.yaml", ...args);
  return { ...said, touched: existsSync(join(cwd, "made")) };
}

it.each<[string, Places, readonly string[], boolean]>([
  ["nothing is said", {}, [], false],
  ["your settings allow it", { user: { allow: ["Bash(touch:*)"] } }, [], true],
  ["your settings choose the mode", { user: { defaultMode: "bypassPermissions" } }, [], true],
  ["a flag chooses another mode", { user: { defaultMode: "bypassPermissions" } }, ["--permission-mode", "plan"], false],
  ["a flag allows it on top", { user: { allow: ["Grep"] } }, ["--allow", "Bash(touch:*)"], true],
  ["your settings forbid what a flag allows", { user: { deny: ["Bash(touch:*)"] } }, ["--allow", "Bash"], false],
  ["the project forbids it", { user: { allow: ["Bash"] }, project: { deny: ["Bash(touch:*)"] } }, [], false],
])("%s", async (_, places, args, touched) => {
  expect(await touching(places, ...args)).toMatchObject({ code: 0, touched, err: "" });
});

it("a project does not allow itself anything, and a rule about nothing is told", async () => {
  const allowing = await touching({ project: { allow: ["Bash"], defaultMode: "bypassPermissions" } });
  expect(allowing.touched).toBe(false);
  expect(allowing.err).toContain("permissions.allow");
  expect(allowing.err).toContain("permissions.defaultMode");
  const wrong = await touching({ user: { deny: ["Gerp", "Bash(touch"] } });
  expect(wrong.err).toContain("Gerp: there is no such tool");
  expect(wrong.err).toContain("Bash(touch: not a rule");
});
