import { settingNames, settingTable } from "palimpsest/internal/schema/settings";
import type { FlagInput } from "./settings/flags.ts";
import type { Option, Options } from "./parse.ts";

/** The flags that settings have, for every command that reckons with them. */
export const settingOptions: Options = {
  ...Object.fromEntries(
    settingNames.flatMap((name): readonly (readonly [string, Option])[] => {
      const { flag, flagShown, loneFlag, about } = settingTable[name];
      return [
        // Before the flag with a value: of the two in one line the latter counts.
        ...(loneFlag === undefined ? [] : [[loneFlag.flag, { type: "boolean", summary: loneFlag.about }] as const]),
        ...(flag === undefined
          ? []
          : [[flag, { type: "string", shown: flagShown ?? shownFor(flag), summary: asSummary(about) }] as const]),
      ];
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
    if (value === undefined || value === false) return [];
    if (value === true) return loneFlags.filter((lone) => lone.flag === flag);
    return (typeof value === "string" ? [value] : value).map((text) => ({ flag, text }));
  });

const loneFlags: readonly FlagInput[] = settingNames.flatMap((name) => {
  const { loneFlag } = settingTable[name];
  return loneFlag === undefined ? [] : [{ flag: loneFlag.flag, text: loneFlag.value }];
});

/** `context-tokens` → `tokens`. */
function shownFor(flag: string): string {
  return flag.split("-").at(-1) ?? flag;
}

/** As help writes it: one line, lower case, without a full stop. */
function asSummary(about: string): string {
  return `${about.charAt(0).toLowerCase()}${about.slice(1).replace(/\.$/, "")}`;
}

/** For a command that changes a session and runs none of its tools: all but those about the sandbox. */
export const sessionOptions: Options = Object.fromEntries(
  Object.entries(settingOptions).filter(([flag]) => flag !== "sandbox" && flag !== "no-sandbox"),
);

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
