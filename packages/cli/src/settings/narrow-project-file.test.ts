import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Scope } from "palimpsest/internal/settings/resolve-settings";
import { scopeFiles } from "./scope-files.ts";
import { readSettings } from "./read-settings.ts";

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
      expect.stringMatching(
        /^warning : this project is not trusted, so these do not count: permissions.allow \("trustedProjects": \["\/.*"\] in your own settings trusts it\)$/,
      ),
    ]);
  });

  it.each(["default", "acceptEdits", "bypassPermissions"])(
    "does not take the place of plan with %s",
    async (defaultMode) => {
      const read = await permissions({ user: { defaultMode: "plan" }, [scope]: { defaultMode } });
      expect(read.mode).toBe("plan");
      expect(read.problems).toEqual([
        expect.stringContaining("this project is not trusted, so these do not count: permissions.defaultMode ("),
      ]);
    },
  );
});

describe("a project that is trusted", () => {
  const hooks = { Stop: [{ hooks: [{ type: "command", command: "touch ran" }] }] };
  const asked = { hooks, permissions: { allow: ["Bash"], defaultMode: "acceptEdits" } };

  interface Asked {
    readonly trusted: (root: string) => string;
    readonly own?: object;
  }

  async function read({ trusted, own = {} }: Asked) {
    const folder = await mkdtemp(join(tmpdir(), "trusted-"));
    const place = { home: join(folder, "home"), root: join(folder, "work", "project") };
    for (const { scope, path } of scopeFiles(place)) {
      await mkdir(dirname(path), { recursive: true });
      const mine = { trustedProjects: [trusted(place.root)] };
      await writeFile(path, JSON.stringify(scope === "user" ? mine : scope === "project" ? { ...asked, ...own } : {}));
    }
    const { settings, problems, untrusted } = await readSettings({ ...place, env: { HOME: folder } });
    return {
      hooks: settings.hooks.value.length,
      allow: settings["permissions.allow"].value,
      problems,
      untrusted: untrusted.map(({ key }) => key),
    };
  }

  it.each<[string, Asked["trusted"]]>([
    ["its own folder", (root) => root],
    ["a folder above it", (root) => dirname(root)],
    ["from ~", () => "~/work/project"],
  ])("may run hooks and allow: named by %s", async (_name, trusted) => {
    expect(await read({ trusted })).toEqual({ hooks: 1, allow: ["Bash"], problems: [], untrusted: [] });
  });

  it.each<[string, Asked["trusted"]]>([
    ["another folder", (root) => `${root}-not`],
    ["a folder inside it", (root) => join(root, "src")],
    ["a path that begins nowhere", () => "work/project"],
  ])("is not one by %s", async (_name, trusted) => {
    const { hooks: count, allow, problems, untrusted } = await read({ trusted });
    expect({ count, allow, said: problems.length }).toEqual({ count: 0, allow: [], said: 1 });
    expect(untrusted).toEqual(["hooks", "permissions.allow", "permissions.defaultMode"]);
  });

  it("does not become one by its own word", async () => {
    const { hooks: count, problems } = await read({ trusted: () => "/elsewhere", own: { trustedProjects: ["/"] } });
    expect(count).toBe(0);
    expect(problems.map(({ key }) => key)).toContain("trustedProjects");
  });
});

describe("what is wrong is said, and the rest counts", () => {
  it.each<[unknown, string]>([
    ["x", 'error permissions: expected an object with "allow", "ask", "deny" and "defaultMode", found "x"; ignored'],
    [
      { deny: "Bash" },
      'error permissions.deny: expected a list of rules, like Bash(npm test:*), Edit(src/**) or Grep, found "Bash"; ignored',
    ],
    [{ deny: [7] }, "error permissions.deny[0]: expected a string, found 7; ignored"],
    [
      { defaultMode: "yolo" },
      'error permissions.defaultMode: expected one of default, acceptEdits, plan, bypassPermissions, found "yolo"; ignored',
    ],
    [{ denied: ["Bash"] }, "error permissions.denied: is not a setting that palimpsest knows; ignored"],
  ])("%j", async (user, problem) => {
    expect(await permissions({ user })).toEqual({ ...asRead({}), problems: [problem] });
  });
});

it("rules that ask add up in every scope", async () => {
  const folder = await mkdtemp(join(tmpdir(), "asking-"));
  const place = { home: join(folder, "home"), root: join(folder, "project") };
  for (const { scope, path } of scopeFiles(place)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify({ permissions: { ask: [`Bash(${scope}:*)`] } }));
  }
  const { settings, problems } = await readSettings({ ...place, env: {} });
  expect(settings["permissions.ask"].value).toEqual(["Bash(user:*)", "Bash(project:*)", "Bash(local:*)"]);
  expect(problems).toEqual([]);
});

it("no name is guessed for an unknown key among the permissions: one that narrows looks like one that widens", async () => {
  const folder = await mkdtemp(join(tmpdir(), "unknown-"));
  await writeFile(join(folder, "settings.json"), JSON.stringify({ permissions: { alow: ["Bash"] }, modle: "x" }));
  const { problems } = await readSettings({ home: folder, root: undefined, env: {} });
  expect(problems.map(({ key, unknown }) => [key, unknown?.name])).toEqual([
    ["permissions.alow", undefined],
    ["modle", "modle"],
  ]);
});

describe("the statusline command", () => {
  const statusLine = { type: "command", command: "touch ran", padding: 0 };

  async function read(scope: Scope, trusted: (root: string) => readonly string[] = () => []) {
    const folder = await mkdtemp(join(tmpdir(), "statusline-"));
    const place = { home: join(folder, "home"), root: join(folder, "root") };
    for (const { scope: at, path } of scopeFiles(place)) {
      await mkdir(dirname(path), { recursive: true });
      const own = at === "user" ? { trustedProjects: trusted(place.root) } : {};
      await writeFile(path, JSON.stringify({ ...own, ...(at === scope ? { statusLine } : {}) }));
    }
    const { settings, problems, untrusted } = await readSettings({ ...place, env: {} });
    expect(problems).toHaveLength(untrusted.length);
    return { command: settings.statusLine.value, untrusted: untrusted.map(({ key }) => key) };
  }

  it("is the user's own", async () => {
    expect(await read("user")).toEqual({ command: "touch ran", untrusted: [] });
  });

  it.each(["project", "local"] as const)("of a %s file does not run, unless the project is trusted", async (scope) => {
    expect(await read(scope)).toEqual({ command: undefined, untrusted: ["statusLine"] });
    expect(await read(scope, (root) => [root])).toEqual({ command: "touch ran", untrusted: [] });
  });
});
