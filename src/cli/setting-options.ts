import { settingNames, settingTable } from "../schema/settings.ts";
import type { FlagInput } from "../settings/flags.ts";
import type { Options } from "./parse.ts";

/** The flags that settings have, for every command that reckons with them. */
export const settingOptions: Options = {
  ...Object.fromEntries(
    settingNames.flatMap((name) => {
      const { flag, about } = settingTable[name];
      return flag === undefined ? [] : [[flag, { type: "string", shown: shownFor(flag), summary: asSummary(about) }]];
    }),
  ),
  on: { type: "string", shown: "switch", takes: "many", summary: "turn a switch on: --on snip" },
  off: { type: "string", shown: "switch", takes: "many", summary: "turn a switch off: --off clear.size" },
};

export type GivenOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** Where a switch is turned on and off in one line, off counts. */
export const settingFlags = (given: GivenOptions): readonly FlagInput[] =>
  Object.keys(settingOptions).flatMap((flag) => {
    const value = given[flag];
    if (value === undefined || typeof value === "boolean") return [];
    return (typeof value === "string" ? [value] : value).map((text) => ({ flag, text }));
  });

/** `context-tokens` → `tokens`. */
function shownFor(flag: string): string {
  return flag.split("-").at(-1) ?? flag;
}

/** As help writes it: one line, lower case, without a full stop. */
function asSummary(about: string): string {
  return `${about.charAt(0).toLowerCase()}${about.slice(1).replace(/\.$/, "")}`;
}

/** Those that a command reckons with which only reads a session: its window and thresholds. */
const forNumbers: ReadonlySet<string> = new Set([
  "model",
  "context-tokens",
  "output-tokens",
  "compact-percent",
  "blocking-tokens",
  "policy",
  "on",
  "off",
]);
export const numberOptions: Options = Object.fromEntries(
  Object.entries(settingOptions).filter(([flag]) => forNumbers.has(flag)),
);
