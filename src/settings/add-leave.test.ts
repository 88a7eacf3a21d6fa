import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/contract/temporary-folder.ts";
import { parseJson } from "../schema/json.ts";
import { addLeave } from "./add-leave.ts";
import { settingsFileBytesMax } from "./limits.ts";

const deps = {
  replaceFile: async (path: string, text: string) => {
    await writeFile(path, text);
    return undefined;
  },
};

async function added(before: string | undefined, rule = "Bash(make:*)") {
  const path = join(await temporaryFolder(), "settings.local.json");
  if (before !== undefined) await writeFile(path, before);
  const outcome = await addLeave(deps, { path, rule });
  const after = await readFile(path, "utf8").catch(() => undefined);
  return { outcome, after };
}

test.each([
  [undefined, { permissions: { allow: ["Bash(make:*)"] } }],
  ["{}", { permissions: { allow: ["Bash(make:*)"] } }],
  ["\uFEFF{}", { permissions: { allow: ["Bash(make:*)"] } }],
  [
    '{"x":1,"permissions":{"deny":["Read(a)"],"allow":["Edit"]},"y":[2]}',
    { x: 1, permissions: { deny: ["Read(a)"], allow: ["Edit", "Bash(make:*)"] }, y: [2] },
  ],
])("the rule is added and the rest stays: %j", async (before, expected) => {
  const { outcome, after } = await added(before);
  expect(outcome).toEqual({ kind: "added" });
  expect(parseJson(after ?? "")).toEqual(expected);
});

test("a rule that stands there is not written again", async () => {
  const before = '{ "permissions": {"allow":["Bash(make:*)"]}}';
  expect(await added(before)).toEqual({ outcome: { kind: "known" }, after: before });
});

test.each([
  ["no JSON", "{", "no JSON"],
  ["empty", "", "no JSON"],
  ["no object", "[]", "no object"],
  ["other permissions", '{"permissions":[]}', "no object"],
  ["another list", '{"permissions":{"allow":"Bash"}}', "no list"],
  ["a key that stands twice", '{"permissions":{},"permissions":{"deny":["Bash"]}}', "twice"],
  ["too large", `{"x":"${"y".repeat(settingsFileBytesMax)}"}`, "too large"],
])("what is not as it should be is left alone: %s", async (_name, before, words) => {
  const { outcome, after } = await added(before);
  expect(outcome.kind === "refused" ? outcome.why : outcome).toContain(words);
  expect(after).toBe(before);
});

test("a link is not replaced, nor what it leads to", async () => {
  const folder = await temporaryFolder();
  const [target, path] = [join(folder, "target.json"), join(folder, "settings.local.json")];
  await writeFile(target, "{}");
  await symlink(target, path);
  expect((await addLeave(deps, { path, rule: "Edit" })).kind).toBe("refused");
  expect(await readFile(target, "utf8")).toBe("{}");
  await mkdir(join(folder, "folder"));
  expect((await addLeave(deps, { path: join(folder, "folder"), rule: "Edit" })).kind).toBe("refused");
});
