import { isSettingName, settingNames, settingTable, type SettingName } from "palimpsest/internal/schema/settings";
import type { Given, GivenValues } from "palimpsest/internal/settings/given";
import { type Problem, severityOf, wrongValue } from "palimpsest/internal/settings/problem";
import { textValue } from "./text-value.ts";

/** One flag of the command line, without its dashes; of several that set the same thing the last counts. */
export interface FlagInput {
  readonly flag: string;
  readonly text: string;
}

/** What the command line says: `--model x`, `--off clear.size`. */
export function flagValues(flags: readonly FlagInput[]): GivenValues {
  const givenByName = new Map<SettingName, Given>();
  const problems: Problem[] = [];
  for (const { flag, text } of flags) {
    const read = flag === "on" || flag === "off" ? switched(flag, text) : valued(flag, text);
    if (read.kind === "given")
      givenByName.set(read.name, { value: read.value, source: `flag --${flag}`, from: `--${flag}` });
    else problems.push(read.problem);
  }
  return { givenByName, problems };
}

type FlagReading =
  | { readonly kind: "given"; readonly name: SettingName; readonly value: unknown }
  | { readonly kind: "problem"; readonly problem: Problem };

/** Both `clear.size` and `flags.clear.size` name the switch. */
function switched(flag: "on" | "off", text: string): FlagReading {
  const name = [`flags.${text}`, text].find((candidate) => isSettingName(candidate));
  if (name !== undefined && isSettingName(name) && settingTable[name].type === "switch")
    return { kind: "given", name, value: flag === "on" };
  const what = `there is no switch ${text}`;
  return { kind: "problem", problem: { ...placeOf(flag), what, unknown: { name: text, known: switchesByFlagName } } };
}

const switchesByFlagName = settingNames
  .filter((name) => settingTable[name].type === "switch")
  .map((name) => name.replace(/^flags\./, ""));

function valued(flag: string, text: string): FlagReading {
  const name = settingNames.find((candidate) => isFlagOf(flag, candidate));
  if (name === undefined) return { kind: "problem", problem: { ...placeOf(flag), what: "sets nothing" } };
  const read = textValue(name, text);
  if (read.kind === "value") return { kind: "given", name, value: read.value };
  const { expects } = settingTable[name];
  const severity = severityOf(name, Number(text));
  const fate = severity === "error" ? "refused" : "ignored";
  return { kind: "problem", problem: wrongValue({ ...placeOf(flag), severity, expected: expects, found: text, fate }) };
}

/** The value of a flag that stands alone comes as its text. */
const isFlagOf = (flag: string, name: SettingName): boolean =>
  settingTable[name].flag === flag || settingTable[name].loneFlag?.flag === flag;

const placeOf = (flag: string) => ({ severity: "error", where: `flag --${flag}`, key: "" }) as const;
