import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type SettingName, settingNames, settingTable } from "../packages/palimpsest/src/schema/setting-table.ts";
import type { SettingRow } from "../packages/palimpsest/src/schema/setting-row.ts";
import { switchNames } from "../packages/palimpsest/src/schema/switch-rows.ts";
import { builtInNumbers } from "../packages/palimpsest/src/settings/resolved-settings.ts";
import { filledPage, type Row } from "./doc-tables.ts";

/**
 * The tables of docs/settings.md come from the data that the code uses. `node scripts/settings-doc.ts` writes them; a test
 * fails if the page differs.
 */
export const settingsPage = resolve(import.meta.dirname, "../docs/settings.md");

export const withTables = (page: string): string => filledPage(page, tables);

const isSwitch = (name: SettingName): boolean => name.startsWith("flags.");

const settingRows = settingNames
  .filter((name) => !isSwitch(name))
  .map((name): Row => {
    const row = settingTable[name];
    const { default: defaultValue, defaultSays, expects, environment, flag, loneFlag, basis, type } = row;
    const valueFlags = [flag, loneFlag?.flag].filter((flagName) => flagName !== undefined);
    const flags = type === "switch" ? `--on, --off ${name}` : valueFlags.map((flagName) => `--${flagName}`).join(", ");
    return [
      code(name),
      expects,
      defaultSays ?? code(JSON.stringify(defaultValue)),
      environment.map(code).join(", "),
      flags === "" ? "" : code(flags),
      meaning(row),
      byProject(row),
      basis,
    ];
  });

const switchRows = switchNames.map((name): Row => {
  const row = settingTable[`flags.${name}`];
  const { default: isOn, environment, offBy = [], basis, state } = row;
  return [
    code(name),
    state === "planned" ? "–" : isOn ? "on" : "off",
    meaning(row),
    byProject(row),
    environment.map(code).join(", "),
    offBy.map(code).join(", "),
    basis,
  ];
});

const numberRows = builtInNumbers.map(({ name, tokens, about, basis }): Row => [
  name,
  tokens.toLocaleString("en-US"),
  about,
  basis,
]);

const tables = {
  settings: [
    ["setting", "value", "default", "environment", "flag", "meaning", "an untrusted project may say", "number is"],
    ...settingRows,
  ],
  switches: [
    ["switch", "default", "meaning", "an untrusted project may say", "environment", "turned off by", "it is"],
    ...switchRows,
  ],
  numbers: [["number", "tokens", "meaning", "it is"], ...numberRows],
} as const satisfies Record<string, readonly Row[]>;

function meaning({ about, state }: Pick<SettingRow, "about" | "state">): string {
  return state === "planned" ? `${about} Not there yet.` : about;
}

function byProject({ byProject: use }: Pick<SettingRow, "byProject">): string {
  if (typeof use === "object") return code(use.says);
  return use === "yours" ? "nothing, nor a trusted one" : use;
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) writeFileSync(settingsPage, withTables(readFileSync(settingsPage, "utf8")));
