import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import { masterBySwitch, type SwitchName, switchNames } from "palimpsest/internal/schema/switch-rows";

const packages = resolve(import.meta.dirname, "../..");
/** Where values are taken from, looked up and shown: what only these read changes nothing. */
const shown = /^palimpsest\/src\/(schema|policy)\/|\/settings\/(?!resolve|read|defined-servers)|^cli\/src\/.*explain/;
const sources = globSync("{palimpsest,cli}/src/**/*.ts", { cwd: packages })
  .filter((path) => !path.endsWith(".test.ts") && !shown.test(path))
  .map((path) => readFileSync(join(packages, path), "utf8"))
  .join("\n");

const isRead = (name: string, patterns: readonly string[]): boolean =>
  new RegExp(patterns.join("|").replaceAll("NAME", name.replaceAll(".", "\\."))).test(sources);

const isSwitchRead = (name: SwitchName): boolean =>
  isRead(name, ["witches\\.NAME\\b", 'witches\\["NAME"\\]', 'isOn\\([^)]*"NAME"']);

/** A switch that stands above others is read where they are resolved. */
const switchesBelow = (name: string): readonly SwitchName[] =>
  switchNames.filter((below) => masterBySwitch[below] === name);

/** Servers are started from the definitions that the files hold; the setting lists them, without what nobody should see. */
const readByAnotherName = new Map([["mcpServers", "serversByFile"]]);

const isSettingRead = (name: string): boolean =>
  isRead(readByAnotherName.get(name) ?? name, [
    String.raw`ettings\.NAME\b`,
    String.raw`\bNAME\.value\b`,
    String.raw`\["NAME"\]\.value`,
    String.raw`\{[^}]*\bNAME\b[^}]*\} = settings`,
    String.raw`\.\.\.NAME\b`,
    String.raw`values\??\.get\("NAME"\)`,
  ]) || switchesBelow(name).some(isSwitchRead);

describe("what `explain` lists is read by something, or is marked as planned, never both", () => {
  it.each(switchNames)("the switch %s", (name) => {
    expect(isSwitchRead(name)).toBe(settingTable[`flags.${name}`].state !== "planned");
  });

  it.each(settingNames.filter((name) => !name.startsWith("flags.")))("the setting %s", (name) => {
    expect(isSettingRead(name)).toBe(settingTable[name].state !== "planned");
  });
});
