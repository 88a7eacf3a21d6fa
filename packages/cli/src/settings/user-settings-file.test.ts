import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { parseJson } from "palimpsest/internal/schema/json";
import { addAllowRules } from "./user-settings-file.ts";
import { settingsFileBytesMax } from "palimpsest/internal/settings/limits";

afterEach(() => vi.unstubAllEnvs());

const deps = {
  replaceFile: async (path: string, text: string) => {
    await writeFile(path, text);
    return undefined;
  },
};

async function added(before: (root: string) => string | undefined, rules = ["Bash(make:*)", "Edit"]) {
  const folder = await temporaryFolder();
  const [path, root] = [join(folder, "settings.json"), join(folder, "project")];
  await mkdir(root);
  const text = before(root);
  if (text !== undefined) await writeFile(path, text);
  const outcome = await addAllowRules(deps, { path, root, rules });
  const after = await readFile(path, "utf8").catch(() => undefined);
  return { outcome, after, root };
}

test.each([
  [undefined, {}, ["Bash(make:*)", "Edit"]],
  ["{}", {}, ["Bash(make:*)", "Edit"]],
  ["\uFEFF{}", {}, ["Bash(make:*)", "Edit"]],
  [
    '{"x":1,"permissions":{"deny":["Read(a)"],"allow":["Edit"]},"y":[2]}',
    { x: 1, permissions: { deny: ["Read(a)"], allow: ["Edit"] }, y: [2] },
    ["Bash(make:*)", "Edit"],
  ],
])("the rules are added for the project and the rest stays: %j", async (before, rest, allow) => {
  const { outcome, after, root } = await added(() => before);
  expect(outcome).toEqual({ kind: "added" });
  expect(parseJson(after ?? "")).toEqual({ ...rest, projects: { [root]: { permissions: { allow } } } });
});

test("rules of the project and of others stay", async () => {
  const others = { "/other": { permissions: { allow: ["Bash"] } } };
  const { after, root } = await added((at) =>
    JSON.stringify({ projects: { ...others, [`${at}/`]: { permissions: { allow: ["Edit"], deny: ["Read(a)"] } } } }),
  );
  expect(parseJson(after ?? "")).toEqual({
    projects: { ...others, [`${root}/`]: { permissions: { allow: ["Edit", "Bash(make:*)"], deny: ["Read(a)"] } } },
  });
});

test.each(["~/project", "~/project/", "~/../home/project"])("the section %s is the project's own", async (name) => {
  const home = join(await temporaryFolder(), "home");
  const [path, root] = [join(home, "settings.json"), join(home, "project")];
  await mkdir(root, { recursive: true });
  vi.stubEnv("HOME", home);
  await writeFile(path, JSON.stringify({ projects: { [name]: { permissions: { allow: ["Edit"] } } } }));
  expect(await addAllowRules(deps, { path, root, rules: ["Edit"] })).toEqual({ kind: "known" });
  expect(await addAllowRules(deps, { path, root, rules: ["Bash(make:*)"] })).toEqual({ kind: "added" });
  expect(parseJson(await readFile(path, "utf8"))).toEqual({
    projects: { [name]: { permissions: { allow: ["Edit", "Bash(make:*)"] } } },
  });
});

test("rules that are already listed are not written again", async () => {
  const text = (root: string) => JSON.stringify({ projects: { [root]: { permissions: { allow: ["Edit"] } } } });
  const { outcome, after, root } = await added(text, ["Edit"]);
  expect([outcome, after]).toEqual([{ kind: "known" }, text(root)]);
});

test.each([
  ["no JSON", "{", "not valid JSON"],
  ["empty", "", "not valid JSON"],
  ["no object", "[]", "not hold a JSON object"],
  ["other projects", '{"projects":[]}', "not an object"],
  ["another project", '{"projects":{"ROOT":[]}}', "not an object"],
  ["other permissions", '{"projects":{"ROOT":{"permissions":[]}}}', "not an object"],
  ["another list", '{"projects":{"ROOT":{"permissions":{"allow":"Bash"}}}}', "not a list"],
  ["a key that stands twice", '{"permissions":{},"permissions":{"deny":["Bash"]}}', "twice"],
  ["too large", `{"x":"${"y".repeat(settingsFileBytesMax)}"}`, "too large"],
])("what is not as it should be is left alone: %s", async (_name, before, words) => {
  const text = (root: string) => before.replace("ROOT", root);
  const { outcome, after, root } = await added(text);
  expect(outcome.kind === "refused" ? outcome.why : outcome).toContain(words);
  expect(after).toBe(text(root));
});

test("a link is not replaced, nor what it leads to", async () => {
  const folder = await temporaryFolder();
  const [target, path] = [join(folder, "target.json"), join(folder, "settings.json")];
  await writeFile(target, "{}");
  await symlink(target, path);
  expect((await addAllowRules(deps, { path, root: folder, rules: ["Edit"] })).kind).toBe("refused");
  expect(await readFile(target, "utf8")).toBe("{}");
  await mkdir(join(folder, "folder"));
  expect((await addAllowRules(deps, { path: join(folder, "folder"), root: folder, rules: ["Edit"] })).kind).toBe(
    "refused",
  );
});
