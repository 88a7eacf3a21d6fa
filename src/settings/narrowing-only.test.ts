import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Scope } from "./given.ts";
import { scopeFiles } from "./files.ts";
import { readSettings } from "./read.ts";

async function permissions(byScope: { readonly [Name in Scope]?: unknown }) {
  const folder = await mkdtemp(join(tmpdir(), "permissions-"));
  const place = { home: join(folder, "home"), root: join(folder, "root") };
  for (const { scope, path } of scopeFiles(place)) {
    if (byScope[scope] === undefined) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify({ permissions: byScope[scope] }));
  }
  const { settings, problems } = await readSettings({ ...place, env: {} });
  return {
    allow: settings["permissions.allow"].value,
    deny: settings["permissions.deny"].value,
    mode: settings["permissions.defaultMode"].value,
    problems: problems.map(({ severity, key, what }) => `${severity} ${key}: ${what}`),
  };
}

it("your own file may allow, forbid and choose the mode", async () => {
  const user = { allow: ["Bash(npm test:*)"], deny: ["Read(.env)"], defaultMode: "bypassPermissions" };
  expect(await permissions({ user })).toEqual({ ...asRead(user), problems: [] });
});

const asRead = ({
  allow = [],
  deny = [],
  defaultMode = "default",
}: {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly defaultMode?: string;
}) => ({ allow, deny, mode: defaultMode });

describe.each(["project", "local"] as const)("a project's file (%s)", (scope) => {
  it("adds to what is forbidden, and may ask for plan", async () => {
    const user = { allow: ["Grep"], deny: ["Read(.env)"], defaultMode: "acceptEdits" };
    expect(await permissions({ user, [scope]: { deny: ["Bash"], defaultMode: "plan" } })).toEqual({
      allow: ["Grep"],
      deny: ["Read(.env)", "Bash"],
      mode: "plan",
      problems: [],
    });
  });

  it("allows nothing, and that is said", async () => {
    const read = await permissions({ user: { allow: ["Grep"] }, [scope]: { allow: ["Bash"] } });
    expect(read.allow).toEqual(["Grep"]);
    expect(read.problems).toEqual([
      "warning permissions.allow: counts only in your own settings, not in a project's; ignored",
    ]);
  });

  it.each(["default", "acceptEdits", "bypassPermissions"])(
    "does not take the place of plan with %s",
    async (defaultMode) => {
      const read = await permissions({ user: { defaultMode: "plan" }, [scope]: { defaultMode } });
      expect(read.mode).toBe("plan");
      expect(read.problems).toEqual([
        "warning permissions.defaultMode: may only be plan in a project's settings; ignored",
      ]);
    },
  );
});

describe("what is wrong is said, and the rest counts", () => {
  it.each<[unknown, string]>([
    ["x", 'error permissions: expected an object with "allow", "deny" and "defaultMode", found "x"; ignored'],
    [
      { deny: "Bash" },
      'error permissions.deny: expected a list of rules, like Bash(npm test:*), Edit(src/**) or Grep, found "Bash"; ignored',
    ],
    [{ deny: [7] }, "error permissions.deny[0]: expected a string, found 7; ignored"],
    [
      { defaultMode: "yolo" },
      'error permissions.defaultMode: expected one of default, acceptEdits, plan, bypassPermissions, found "yolo"; ignored',
    ],
    [{ ask: ["Bash"] }, "warning permissions.ask: is not a setting that palimpsest knows; ignored"],
  ])("%j", async (user, problem) => {
    expect(await permissions({ user })).toEqual({ ...asRead({}), problems: [problem] });
  });
});
