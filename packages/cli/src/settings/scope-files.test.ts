import { mkdir, realpath, symlink, writeFile, mkdtemp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test, it } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { type SettingName, settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import type { SwitchName } from "palimpsest/internal/schema/switch-rows";
import { scopeFiles } from "./scope-files.ts";
import { formatProblem } from "palimpsest/internal/settings/problem";
import { readSettings, type Environment } from "./read-settings.ts";
import { tmpdir } from "node:os";
import { settingFlags } from "../program/setting-options.ts";
import type { FlagInput } from "./flag-values.ts";
import type { Scope } from "palimpsest/internal/settings/resolve-settings";

const hash = "0".repeat(64);

/** Of each setting a value that differs from its default, as a file has it. */
const samples: { readonly [Name in Exclude<SettingName, `flags.${SwitchName}`>]: unknown } = {
  model: "claude-opus-5",
  summaryModel: "claude-haiku-4-5",
  models: [{ id: "claude-opus-5", windowTokens: 1_000 }],
  contextTokens: 1_000,
  outputTokensMax: 1,
  compactPercent: 1,
  blockingTokens: 1,
  askAboveDollars: 0.5,
  agentDollarsMax: 2,
  toolLimits: [{ id: "bash", resultCharsMax: 2_000 }],
  clearableTools: ["write"],
  autoCompactEnabled: false,
  autoMemoryEnabled: false,
  autoDreamEnabled: false,
  memoryRecall: "off",
  durability: "never",
  retentionDays: 30,
  secrets: "redact",
  policy: "none",
  saving: "thrifty",
  systemPrompts: [{ id: "claude", text: "Obey this repository." }],
  hooks: { Stop: [{ hooks: [{ type: "command", command: "touch ran" }] }] },
  mcpServers: { a: { command: "a" } },
  approvedMcpServers: [hash],
  refusedMcpServers: [hash],
  statusLine: { type: "command", command: "touch ran" },
  trustedProjects: ["/"],
  refusedProjects: ["/elsewhere"],
  instructions: ["https://rules.example/a.md"],
  claudeMdExcludes: ["**/CLAUDE.md"],
  foreignInstructions: ["gemini"],
  allowedImports: ["/etc/hosts.md"],
  refusedImports: ["/etc/hosts.md"],
  sandbox: "required",
  "permissions.allow": ["Bash"],
  "permissions.ask": ["Bash(git push:*)"],
  "permissions.deny": ["Read(.env)"],
  "permissions.defaultMode": "bypassPermissions",
};

const isSwitch = (name: SettingName): name is `flags.${SwitchName}` => name.startsWith("flags.");
const sampleOf = (name: SettingName): unknown => (isSwitch(name) ? !settingTable[name].default : samples[name]);

/** `permissions.allow` stands in an object of the file. */
function fileWith(name: SettingName, value: unknown): object {
  const [first, ...rest] = name.split(".");
  const isNested = first === "flags" || first === "permissions";
  return isNested ? { [first]: { [rest.join(".")]: value } } : { [name]: value };
}

interface Asked {
  readonly scope: "project" | "local";
  readonly own?: (root: string) => object;
}

async function read(file: object, { scope, own = () => ({}) }: Asked) {
  const folder = await realpath(await temporaryFolder());
  const place = { home: join(folder, "home"), root: join(folder, "work/project") };
  for (const { scope: at, path } of scopeFiles(place)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify(at === scope ? file : at === "user" ? own(place.root) : {}));
  }
  return { ...(await readSettings({ ...place, env: { HOME: folder } })), root: place.root };
}

/** What a clone may say, and no word more: whoever adds a setting decides it here, too. */
const counting: ReadonlySet<SettingName> = new Set([
  "mcpServers",
  "sandbox",
  "permissions.ask",
  "permissions.deny",
  "autoMemoryEnabled",
  "autoDreamEnabled",
  "memoryRecall",
  "flags.extraction",
  "flags.dream",
  "flags.agents",
]);

describe.each(["project", "local"] as const)("an untrusted project's %s file", (scope) => {
  test.each(settingNames.filter((name) => !counting.has(name)))(
    "changes nothing by %s, and that is said",
    async (name) => {
      const { settings, problems } = await read(fileWith(name, sampleOf(name)), { scope });
      expect(settings[name]).toMatchObject({ value: settingTable[name].default, source: "default" });
      expect(problems).toMatchObject([{ severity: "warning" }]);
      expect(problems.map((problem) => formatProblem(problem).includes(name))).toEqual([true]);
    },
  );

  test.each([...counting])("may narrow by %s", async (name) => {
    const { settings, problems } = await read(fileWith(name, sampleOf(name)), { scope });
    expect(settings[name].source).toBe(scope);
    expect(problems).toEqual([]);
  });

  test.each([
    ["permissions.defaultMode", "plan", "counts"],
    ["permissions.defaultMode", "acceptEdits", "ignored"],
    ["permissions.defaultMode", "default", "ignored"],
    ["sandbox", "off", "ignored"],
    ["autoMemoryEnabled", true, "ignored"],
    ["flags.dream", true, "ignored"],
    ["flags.agents", true, "ignored"],
  ] as const)("%s: %j is %3$s", async (name, value, fate) => {
    const { settings, problems } = await read(fileWith(name, value), { scope });
    expect(settings[name].source).toBe(fate === "counts" ? scope : "default");
    expect(problems.map((problem) => formatProblem(problem).includes(name))).toEqual(fate === "counts" ? [] : [true]);
  });

  test("says in one line what does not count, and knows what it would do", async () => {
    const file = { model: "x", hooks: samples.hooks, permissions: { allow: ["Bash", "Edit"], deny: ["Read(a)"] } };
    const { untrusted, trust, files, problems, root } = await read(file, { scope });
    expect(trust).toBe("unasked");
    const from = files.find((one) => one.scope === scope)?.path;
    const how = `("trustedProjects": ["${root}"] in your own settings trusts it)`;
    const what = `this project is not trusted, so these do not count: model, hooks, permissions.allow ${how}`;
    expect(problems).toEqual([{ severity: "warning", where: from, key: "", what }]);
    expect(untrusted).toMatchObject([
      { key: "model", value: "x", from },
      { key: "hooks", value: [{ event: "Stop", command: "touch ran" }], from },
      { key: "permissions.allow", value: ["Bash", "Edit"], from },
    ]);
  });
});

const yours = new Set<SettingName>([
  "approvedMcpServers",
  "refusedMcpServers",
  "trustedProjects",
  "refusedProjects",
  "retentionDays",
  "allowedImports",
  "refusedImports",
]);

test.each(settingNames.filter((name) => !yours.has(name)))("a trusted project may say %s", async (name) => {
  const own = (root: string) => ({ trustedProjects: [root] });
  const { settings, problems, untrusted, trust } = await read(fileWith(name, sampleOf(name)), {
    scope: "project",
    own,
  });
  expect([settings[name].source, problems, untrusted, trust]).toEqual(["project", [], [], "trusted"]);
});

test.each([...yours])("%s counts in no project's file, trusted or not", async (name) => {
  const own = (root: string) => ({ trustedProjects: [root] });
  const { settings, problems } = await read(fileWith(name, sampleOf(name)), { scope: "project", own });
  expect(settings[name].value).not.toEqual(sampleOf(name));
  expect(problems).toMatchObject([{ key: name, what: "counts only in your own settings; ignored" }]);
});

test("instructions are known by the file that names them; a project's count once it is trusted", async () => {
  const named = { instructions: ["docs/*.md"] };
  const own = (root: string) => ({ instructions: ["~/mine.md"], trustedProjects: [root] });
  expect((await read(named, { scope: "project", own })).namedInstructions).toEqual([
    { written: "~/mine.md", scope: "user" },
    { written: "docs/*.md", scope: "project" },
  ]);
  expect((await read(named, { scope: "project" })).namedInstructions).toEqual([]);
});

test("what the user answered about imports counts for the project that it was asked for", async () => {
  const answers = (root: string) => ({
    allowedImports: ["/everywhere.md"],
    projects: { [root]: { allowedImports: ["/here.md"] }, "/elsewhere": { allowedImports: ["/there.md"] } },
  });
  const { settings, problems } = await read({}, { scope: "project", own: answers });
  expect([settings.allowedImports.value, problems]).toEqual([["/everywhere.md", "/here.md"], []]);
});

describe("a project that the user refused to trust", () => {
  const file = { model: "x", contextTokens: 1_000, permissions: { allow: ["Bash"] } };

  test.each([
    ["its folder", (root: string) => ({ refusedProjects: [root] })],
    ["a folder above it", (root: string) => ({ refusedProjects: [dirname(root)] })],
    ["~", () => ({ refusedProjects: ["~/work"] })],
    ["both lists", (root: string) => ({ refusedProjects: [root], trustedProjects: [dirname(root)] })],
  ])("changes nothing, and is named in one line: by %s", async (_how, own) => {
    const { settings, problems, trust } = await read(file, { scope: "project", own });
    expect([trust, settings.model.source]).toEqual(["refused", "default"]);
    expect(problems).toMatchObject([
      {
        severity: "warning",
        key: "",
        what: "you don't trust this project, so these do not count: model, contextTokens, permissions.allow",
      },
    ]);
  });
});

test("a project is known by its real path", async () => {
  const folder = await realpath(await temporaryFolder());
  const [home, root] = [join(folder, "home"), join(folder, "link/project")];
  await mkdir(join(folder, "work/project/.palimpsest"), { recursive: true });
  await mkdir(home);
  await symlink(join(folder, "work"), join(folder, "link"));
  await writeFile(join(root, ".palimpsest/settings.json"), JSON.stringify({ model: "x" }));
  for (const trusted of [join(folder, "work/project"), join(folder, "link")]) {
    await writeFile(join(home, "settings.json"), JSON.stringify({ trustedProjects: [trusted] }));
    expect((await readSettings({ home, root, env: {} })).settings.model.value).toBe("x");
  }
});

interface Said {
  readonly byScope: { readonly [Name in Scope]?: string };
  readonly env?: Environment;
  readonly flags?: readonly FlagInput[];
  readonly trust?: "trusted";
}

async function sandboxOf({ byScope, env = {}, flags = [], trust }: Said) {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-setting-"));
  const place = { home: join(folder, "home"), root: join(folder, "root") };
  for (const { scope, path } of scopeFiles(place)) {
    const trusted = scope === "user" && trust === "trusted" ? { trustedProjects: [place.root] } : {};
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify({ sandbox: byScope[scope], ...trusted }));
  }
  const { settings, problems } = await readSettings({ ...place, env, flags });
  return { ...settings.sandbox, ignored: problems.map(({ key }) => key) };
}

it.each([
  ["nobody says anything", {}, "auto", []],
  ["your own settings turn it off", { user: "off" }, "off", []],
  ["a project strengthens the default", { project: "required" }, "required", []],
  ["a project strengthens what you turned off", { user: "off", project: "auto" }, "auto", []],
  ["a project weakens the default", { project: "off" }, "auto", ["sandbox"]],
  ["a project weakens what you require", { user: "required", project: "auto" }, "required", ["sandbox"]],
  ["the local file weakens the project's", { project: "required", local: "auto" }, "required", ["sandbox"]],
  ["the local file strengthens the project's", { project: "auto", local: "required" }, "required", []],
] as const)("a project's files may only strengthen the sandbox: %s", async (_, byScope, value, ignored) => {
  expect(await sandboxOf({ byScope })).toMatchObject({ value, ignored });
  expect(await sandboxOf({ byScope, trust: "trusted" })).toMatchObject({ value, ignored });
});

it("environment and flags are your own words, and weaken what a project asks for", async () => {
  const byScope = { project: "required" };
  const env = { PALIMPSEST_SANDBOX: "auto" };
  expect(await sandboxOf({ byScope, env })).toMatchObject({ value: "auto", from: "PALIMPSEST_SANDBOX" });
  const flags = settingFlags({ "no-sandbox": true });
  expect(await sandboxOf({ byScope, env, flags })).toMatchObject({ value: "off", source: "flag --no-sandbox" });
});

it("--no-sandbox beside a mode that is named gives way to it, and a flag that is not there says nothing", () => {
  expect(settingFlags({ "no-sandbox": true, sandbox: "required" }).at(-1)).toEqual({
    flag: "sandbox",
    text: "required",
  });
  expect(settingFlags({ "no-sandbox": false })).toEqual([]);
});
