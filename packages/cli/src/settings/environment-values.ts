import { settingNames, settingTable, type SettingName } from "palimpsest/internal/schema/setting-table";
import { switchEnvironmentPrefix } from "palimpsest/internal/schema/switch-rows";
import type { GivenSetting, GivenSettings } from "palimpsest/internal/settings/resolve-settings";
import { type Problem, wrongValue } from "palimpsest/internal/settings/problem";
import { switchExpects, parseSwitch, parseTextValue } from "./flag-values.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings from environment variables. A bad value is only a warning: the shell that set it may serve other tools. */
export function environmentValues(env: Environment): GivenSettings {
  const givenByName = new Map<SettingName, GivenSetting>();
  const problems = new Map<string, Problem>();
  for (const name of settingNames) {
    const setting = readVariables({ name, env, problems });
    if (setting !== undefined) givenByName.set(name, setting);
  }
  for (const variable of Object.keys(env)) {
    if (variable.startsWith(switchEnvironmentPrefix) && !knownSwitches.has(variable)) {
      problems.set(variable, {
        ...variablePlace(variable),
        what: "is not a switch that palimpsest knows; ignored",
        unknown: { name: variable, known: [...knownSwitches] },
      });
    }
  }
  return { givenByName, problems: [...problems.values()] };
}

const knownSwitches: ReadonlySet<string> = new Set(
  settingNames.filter((name) => name.startsWith("flags.")).flatMap((name) => settingTable[name].environment),
);

interface VariablesInput {
  readonly name: SettingName;
  readonly env: Environment;
  /** By variable: one variable may set several settings and is reported once. */
  readonly problems: Map<string, Problem>;
}

function readVariables({ name, env, problems }: VariablesInput): GivenSetting | undefined {
  const row = settingTable[name];
  for (const variable of row.offBy ?? []) {
    const text = env[variable] ?? "";
    const on = text === "" ? false : parseSwitch(text);
    if (on === true) return toGiven(variable, false);
    if (on === undefined) problems.set(variable, wrongVariable(variable, { expected: switchExpects, text }));
  }
  for (const variable of row.environment) {
    const text = env[variable] ?? "";
    if (text === "") continue;
    const read = parseTextValue(name, text);
    if (read.kind === "value") return toGiven(variable, read.value);
    problems.set(
      variable,
      wrongVariable(variable, { expected: row.type === "switch" ? switchExpects : row.expects, text }),
    );
  }
  return undefined;
}

const toGiven = (variable: string, value: unknown): GivenSetting => ({
  value,
  source: `environment ${variable}`,
  from: variable,
});

const variablePlace = (variable: string) =>
  ({ severity: "warning", where: `environment ${variable}`, key: "" }) as const;

const wrongVariable = (variable: string, { expected, text }: { expected: string; text: string }): Problem =>
  wrongValue({ ...variablePlace(variable), expected, found: text });
