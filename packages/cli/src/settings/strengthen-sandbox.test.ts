import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { settingFlags } from "../program/setting-options.ts";
import { scopeFiles } from "./scope-files.ts";
import type { FlagInput } from "./flag-values.ts";
import type { Scope } from "palimpsest/internal/settings/resolve-settings";
import { type Environment, readSettings } from "./read-settings.ts";

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
