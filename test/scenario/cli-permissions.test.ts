import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { expectRefusal } from "./support/cli-world.ts";
import { called } from "./support/called.ts";
import type { Said } from "./support/command-line.ts";

/** The permissions in a settings file, or the whole file as it stands. */
interface Places {
  readonly user?: object | string;
  readonly project?: object | string;
}

async function placed({ user, project }: Places): Promise<{ readonly home: string; readonly cwd: string }> {
  const folder = await temporaryFolder();
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const [place, permissions] of [
    [home, user],
    [join(cwd, ".palimpsest"), project],
  ] as const) {
    mkdirSync(place, { recursive: true });
    if (permissions !== undefined)
      writeFileSync(
        join(place, "settings.json"),
        typeof permissions === "string" ? permissions : JSON.stringify({ permissions }),
      );
  }
  return { home, cwd };
}

const explaining = async (places: Places): Promise<Said> => called(await placed(places), "explain");

/** An agent that touches a file, with these permissions in the settings. */
async function touching(places: Places, ...args: readonly string[]): Promise<Said & { touched: boolean }> {
  const { home, cwd } = await placed(places);
  const call = "{ name: bash, input: { command: touch made } }";
  const scenario = join(cwd, "s.yaml");
  writeFileSync(scenario, `name: s\nmoves:\n  - tools: [${call}]\n  - text: Done.\n`);
  const said = await called({ home, cwd }, "-p", "Go", "--model", "simulator", "--scenario", scenario, ...args);
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
  ["a deny rule on another agent's tool stops nothing", { user: { allow: ["Bash"], deny: ["WebFetch"] } }, [], true],
  ["your settings want it asked", { user: { allow: ["Bash"], ask: ["Bash(touch:*)"] } }, [], false],
  ["the project wants it asked", { user: { allow: ["Bash"] }, project: { ask: ["Bash(touch:*)"] } }, [], false],
])("%s", async (_, places, args, touched) => {
  const said = await touching(places, ...args);
  expect(said).toMatchObject({ code: 0, touched });
  expect(said.err).toMatch(touched ? /^$/ : /^1 call was denied; [^\n]*permissions\.allow[^\n]*\n$/);
});

it("a project does not allow itself anything, and that is told", async () => {
  const allowing = await touching({ project: { allow: ["Bash"], defaultMode: "bypassPermissions" } });
  expect(allowing.touched).toBe(false);
  expect(allowing.err).toContain("permissions.allow");
  expect(allowing.err).toContain("permissions.defaultMode");
});

it.each<[string, Places]>([
  ["your file is no JSON", { user: '{"permissions":' }],
  ["the project's file is no JSON", { project: "{" }],
  ["your file is no object", { user: "[]" }],
  ["the permissions are no object", { user: '{"permissions":[]}' }],
  ["the deny rules are no list", { user: { deny: "Bash" } }],
  ["a deny rule is no text", { project: { deny: [7] } }],
  ["a deny rule is no rule", { user: { deny: ["Bash(touch"] } }],
  ["a deny rule names no tool", { project: { deny: ["Gerp"] } }],
  ["what is to be asked names no tool", { user: { ask: ["Gerp"] } }],
  ["the deny rules are listed twice", { user: '{"permissions":{"deny":["Bash"],"deny":[]}}' }],
])("nothing runs where a deny rule may be lost: %s", async (_, places) => {
  const said = await touching(places, "--allow", "Bash");
  expect(said.touched).toBe(false);
  const file = `/${places.user === undefined ? "project/.palimpsest" : "home"}/settings.json`;
  expectRefusal(said, 2, file, /Correct the file/);
  const explained = await explaining(places);
  expect(explained.code).toBe(1);
  expect(explained.err).toContain(file);
});

it("an allow rule that means nothing is told with its file, and the rest goes on", async () => {
  const said = await touching({ user: { allow: ["Bsh(foo)", "Bash"] } });
  expect(said).toMatchObject({ code: 0, touched: true });
  expect(said.err).toMatch(/^warning: \S+\/home\/settings\.json: permissions\.allow: Bsh\(foo\): not a rule/);
  const explained = await explaining({ user: { allow: ["Bsh(foo)"] } });
  expect(explained.code).toBe(0);
  expect(explained.err).toContain("Bsh(foo): not a rule");
});

it("what was denied, and what is wrong with the settings, stands in the output for programs", async () => {
  const { out, err } = await touching({ user: { allow: ["Bsh(foo)"] } }, "--output-format", "stream-json");
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[0]).toMatchObject({ type: "warning", code: "settings" });
  expect(lines[0]?.["message"]).toContain("Bsh(foo): not a rule");
  expect(err).not.toContain("denied");
  const call = lines.find(({ type }) => type === "call-start");
  expect(lines.at(-1)).toMatchObject({
    type: "result",
    permission_denials: [{ tool_name: "bash", tool_use_id: call?.["id"], tool_input: { command: "touch made" } }],
  });
});
