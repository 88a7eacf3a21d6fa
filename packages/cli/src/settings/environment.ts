import { settingNames, settingTable, type SettingName } from "palimpsest/internal/schema/settings";
import { switchEnvironmentPrefix } from "palimpsest/internal/schema/switches";
import type { Given, GivenValues } from "palimpsest/internal/settings/given";
import { type Problem, wrongValue } from "palimpsest/internal/settings/problem";
import { switchExpects, switchValue, textValue } from "./text-value.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says. A value that makes no sense is a warning: the shell that set it may serve other tools. */
export function environmentValues(env: Environment): GivenValues {
  const givenByName = new Map<SettingName, Given>();
  const problems = new Map<string, Problem>();
  for (const name of settingNames) {
    const given = givenBy({ name, env, problems });
    if (given !== undefined) givenByName.set(name, given);
  }
  for (const variable of Object.keys(env)) {
    if (variable.startsWith(switchEnvironmentPrefix) && !known.has(variable)) {
      problems.set(variable, {
        ...placeOf(variable),
        what: "is not a switch that palimpsest knows; ignored",
        unknown: { name: variable, known: [...known] },
      });
    }
  }
  return { givenByName, problems: [...problems.values()] };
}

const known: ReadonlySet<string> = new Set(
  settingNames.filter((name) => name.startsWith("flags.")).flatMap((name) => settingTable[name].environment),
);

interface Asking {
  readonly name: SettingName;
  readonly env: Environment;
  /** By variable: one may speak for several settings and is reported once. */
  readonly problems: Map<string, Problem>;
}

function givenBy({ name, env, problems }: Asking): Given | undefined {
  const row = settingTable[name];
  for (const variable of row.offBy ?? []) {
    const text = env[variable] ?? "";
    const on = text === "" ? false : switchValue(text);
    if (on === true) return given(variable, false);
    if (on === undefined) problems.set(variable, wrong(variable, { expected: switchExpects, text }));
  }
  for (const variable of row.environment) {
    const text = env[variable] ?? "";
    if (text === "") continue;
    const read = textValue(name, text);
    if (read.kind === "value") return given(variable, read.value);
    problems.set(variable, wrong(variable, { expected: row.type === "switch" ? switchExpects : row.expects, text }));
  }
  return undefined;
}

const given = (variable: string, value: unknown): Given => ({
  value,
  source: `environment ${variable}`,
  from: variable,
});

const placeOf = (variable: string) => ({ severity: "warning", where: `environment ${variable}`, key: "" }) as const;

const wrong = (variable: string, { expected, text }: { expected: string; text: string }): Problem =>
  wrongValue({ ...placeOf(variable), expected, found: text });
