import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type SettingName, settingNames, settingTable, switchNames } from "../src/schema/settings.ts";
import { builtInNumbers } from "../src/settings/numbers.ts";

/**
 * The tables of docs/settings.md come from the data that the code runs on. `node scripts/settings-doc.ts` writes them;
 * a test fails where the page says something else.
 */
export const settingsPage = resolve(import.meta.dirname, "../docs/settings.md");

export function withTables(page: string): string {
  return Object.entries(tables).reduce((text, [name, rows]) => {
    const between = new RegExp(`(?<=<!-- ${name} -->\n)[\\s\\S]*?(?=<!-- end ${name} -->)`);
    if (!between.test(text)) throw new Error(`the page has no place for ${name}`);
    return text.replace(between, () => `\n${markdownTable(rows)}\n`);
  }, page);
}

type Row = readonly string[];

const isSwitch = (name: SettingName): boolean => name.startsWith("flags.");

const settingRows = settingNames
  .filter((name) => !isSwitch(name))
  .map((name): Row => {
    const { default: standard, defaultSays, expects, environment, flag, about, basis, type } = settingTable[name];
    const flags = type === "switch" ? `--on, --off ${name}` : flag === undefined ? "" : `--${flag}`;
    return [
      code(name),
      expects,
      defaultSays ?? code(JSON.stringify(standard)),
      environment.map(code).join(", "),
      flags === "" ? "" : code(flags),
      about,
      basis,
    ];
  });

const switchRows = switchNames.map((name): Row => {
  const { default: standard, environment, offBy = [], about, basis } = settingTable[`flags.${name}`];
  return [
    code(name),
    standard ? "on" : "off",
    about,
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
  settings: [["setting", "value", "default", "environment", "flag", "meaning", "number is"], ...settingRows],
  switches: [["switch", "default", "meaning", "environment", "turned off by", "it is"], ...switchRows],
  numbers: [["number", "tokens", "meaning", "it is"], ...numberRows],
} as const satisfies Record<string, readonly Row[]>;

function code(text: string): string {
  return `\`${text}\``;
}

/** Columns padded, as the formatter leaves them. */
function markdownTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", String.raw`\|`)));
  const widths = (cells[0] ?? []).map((_, at) => Math.max(3, ...cells.map((row) => row[at]?.length ?? 0)));
  const line = (row: Row): string => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |\n`;
  const [head = [], ...body] = cells;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("");
}

if (import.meta.main) writeFileSync(settingsPage, withTables(readFileSync(settingsPage, "utf8")));
