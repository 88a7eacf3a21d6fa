import { isSettingName, settingNames, settingTable, type SettingName } from "palimpsest/internal/schema/setting-table";
import type { GivenSetting, GivenSettings } from "palimpsest/internal/settings/resolve-settings";
import { type Problem, problemSeverity, wrongValue } from "palimpsest/internal/settings/problem";

/** One flag of the command line, without its dashes. If several set the same thing, the last wins. */
export interface FlagInput {
  readonly flag: string;
  readonly text: string;
}

/** Settings from the command line: `--model x`, `--off clear.size`. */
export function flagValues(flags: readonly FlagInput[]): GivenSettings {
  const givenByName = new Map<SettingName, GivenSetting>();
  const problems: Problem[] = [];
  for (const { flag, text } of flags) {
    const read = flag === "on" || flag === "off" ? readSwitchFlag(flag, text) : readValueFlag(flag, text);
    if (read.kind === "given")
      givenByName.set(read.name, { value: read.value, source: `flag --${flag}`, from: `--${flag}` });
    else problems.push(read.problem);
  }
  return { givenByName, problems };
}

type FlagOutcome =
  | { readonly kind: "given"; readonly name: SettingName; readonly value: unknown }
  | { readonly kind: "problem"; readonly problem: Problem };

/** Both `clear.size` and `flags.clear.size` name the switch. */
function readSwitchFlag(flag: "on" | "off", text: string): FlagOutcome {
  const name = [`flags.${text}`, text].find((candidate) => isSettingName(candidate));
  if (name !== undefined && isSettingName(name) && settingTable[name].type === "switch")
    return { kind: "given", name, value: flag === "on" };
  const what = `there is no switch ${text}`;
  return { kind: "problem", problem: { ...flagPlace(flag), what, unknown: { name: text, known: switchesByFlagName } } };
}

const switchesByFlagName = settingNames
  .filter((name) => settingTable[name].type === "switch")
  .map((name) => name.replace(/^flags\./, ""));

function readValueFlag(flag: string, text: string): FlagOutcome {
  const name = settingNames.find((candidate) => isFlagFor(flag, candidate));
  if (name === undefined) return { kind: "problem", problem: { ...flagPlace(flag), what: "sets nothing" } };
  const read = parseTextValue(name, text);
  if (read.kind === "value") return { kind: "given", name, value: read.value };
  const { expects } = settingTable[name];
  const severity = problemSeverity(name, Number(text));
  const fate = severity === "error" ? "refused" : "ignored";
  return {
    kind: "problem",
    problem: wrongValue({ ...flagPlace(flag), severity, expected: expects, found: text, fate }),
  };
}

/** A flag without a value arrives with the text that it stands for. */
const isFlagFor = (flag: string, name: SettingName): boolean =>
  settingTable[name].flag === flag || settingTable[name].loneFlag?.flag === flag;

const flagPlace = (flag: string) => ({ severity: "error", where: `flag --${flag}`, key: "" }) as const;

type TextValue = { readonly kind: "value"; readonly value: unknown } | { readonly kind: "wrong" };

/** A value written as text, as in variables and flags. */
export function parseTextValue(name: SettingName, text: string): TextValue {
  const { shape, type } = settingTable[name];
  const read = shape.safeParse(parseByType(type, text.trim()));
  return read.success ? { kind: "value", value: read.data } : { kind: "wrong" };
}

function parseByType(type: "text" | "number" | "switch" | "list", text: string): unknown {
  switch (type) {
    case "text":
    case "list":
      return text;
    case "number":
      return decimal.test(text) ? Number(text) : text;
    case "switch":
      return parseSwitch(text);
  }
}

const decimal = /^-?\d+(?:\.\d+)?$/;

const trueWords = new Set(["1", "true", "yes", "on"]);
const falseWords = new Set(["0", "false", "no", "off"]);

export function parseSwitch(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (trueWords.has(word)) return true;
  return falseWords.has(word) ? false : undefined;
}
export const switchExpects = "1, true, yes or on, or 0, false, no or off";
