import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { readSettings } from "./read-settings.ts";

async function place() {
  const folder = await temporaryFolder();
  const [home, root] = [join(folder, "home"), join(folder, "work/project")];
  await mkdir(home);
  await mkdir(join(root, ".palimpsest"), { recursive: true });
  const read = async (settings: object, own: object = {}) => {
    await writeFile(join(home, "settings.json"), JSON.stringify(settings));
    await writeFile(join(root, ".palimpsest/settings.json"), JSON.stringify(own));
    return readSettings({ home, root, env: { HOME: folder } });
  };
  return { folder, home, root, read };
}

const rules = (allow: readonly string[]) => ({ permissions: { allow } });

describe("what your own settings say for one project", () => {
  test("counts there at once, on top of what counts everywhere, and says where it is from", async () => {
    const { read, root, home } = await place();
    const projects = { [root]: { permissions: { allow: ["Bash(make:*)"], deny: ["Read(a)"], ask: ["Bash(b)"] } } };
    const { settings, problems, rulesByFile } = await read({ ...rules(["Edit"]), projects });
    expect(problems).toEqual([]);
    expect(settings["permissions.allow"]).toEqual({
      value: ["Edit", "Bash(make:*)"],
      source: "user-project",
      from: `${join(home, "settings.json")} for ${root} and ${join(home, "settings.json")}`,
    });
    expect([settings["permissions.deny"].value, settings["permissions.ask"].value]).toEqual([["Read(a)"], ["Bash(b)"]]);
    expect(rulesByFile.get(join(home, "settings.json"))).toMatchObject({ allow: ["Edit", "Bash(make:*)"] });
  });

  test.each(["elsewhere", "above", "below"])("counts nowhere else: %s", async (where) => {
    const { read, root, folder } = await place();
    const other = { elsewhere: join(folder, "other"), above: join(folder, "work"), below: join(root, "src") }[where];
    const { settings } = await read({ projects: { [other ?? ""]: rules(["Bash"]) } });
    expect(settings["permissions.allow"].value).toEqual([]);
  });

  test("finds the project by its real path", async () => {
    const { read, folder } = await place();
    await symlink(join(folder, "work"), join(folder, "link"));
    for (const name of [join(folder, "link/project"), "~/work/project", "~/link/project/"]) {
      const { settings } = await read({ projects: { [name]: rules(["Edit"]) } });
      expect(settings["permissions.allow"].value, name).toEqual(["Edit"]);
    }
  });

  test("counts for nothing in a project's own file", async () => {
    const { read, root } = await place();
    const { settings, problems } = await read({}, { projects: { [root]: rules(["Bash"]) } });
    expect(settings["permissions.allow"].value).toEqual([]);
    expect(problems).toMatchObject([{ severity: "warning", key: "projects", what: /only in your own settings/ }]);
  });

  test.each([
    [[], "projects", "error"],
    [{ ROOT: [] }, "projects.ROOT", "error"],
    [{ ROOT: { permissions: [] } }, "projects.ROOT.permissions", "error"],
    [{ ROOT: { permissions: { deny: "x" } } }, "projects.ROOT.permissions.deny", "error"],
    [{ ROOT: { permissions: { denny: [] } } }, "projects.ROOT.permissions.denny", "error"],
    [{ ROOT: { model: "x" } }, "projects.ROOT.model", "warning"],
  ])("says what is wrong: %j", async (given, key, severity) => {
    const { read, root } = await place();
    const named = (text: string): string => text.replaceAll("ROOT", root);
    const projects: unknown = JSON.parse(named(JSON.stringify(given)));
    const { problems } = await read({ projects });
    expect(problems).toMatchObject([{ severity, key: named(key) }]);
  });

  test("what is wrong about another project is none of this one's business", async () => {
    const { read } = await place();
    expect((await read({ projects: { "/other": { permissions: { deny: "x" } } } })).problems).toEqual([]);
  });
});
