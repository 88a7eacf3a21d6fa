import type { NamedInstruction } from "palimpsest/internal/memory/load-instruction-file";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { findModel, knownModels } from "palimpsest/internal/tokens/known-models";
import {
  type FileServers,
  serversInFile,
  type LoadedFile,
  readScopeFile,
  realPath,
  scopeFiles,
  type SettingsLocation,
} from "./scope-files.ts";
import { type FlagInput, flagValues, switchExpects, parseSwitch, parseTextValue } from "./flag-values.ts";
import {
  type GivenSetting,
  type GivenSettings,
  type Scope,
  type Settings,
  resolveSettings,
} from "palimpsest/internal/settings/resolve-settings";
import {
  projectFolder,
  narrowProjectFile,
  type Trust,
  type TrustLists,
  findTrust,
  type UntrustedPart,
  strengthenSandbox,
} from "./narrow-project-file.ts";
import type { ProjectPart } from "./parse-settings.ts";
import { type Problem, wrongValue } from "palimpsest/internal/settings/problem";
import { settingNames, settingTable, type SettingName } from "palimpsest/internal/schema/setting-table";
import { switchEnvironmentPrefix } from "palimpsest/internal/schema/switch-rows";

export interface SettingsInput extends SettingsLocation {
  readonly env: Environment;
  readonly flags?: readonly FlagInput[];
}

export interface LoadedSettings {
  readonly settings: Settings;
  /** Errors first. */
  readonly problems: readonly Problem[];
  readonly trust: Trust;
  /** Settings in the project's files that would count if the project were trusted. */
  readonly untrusted: readonly UntrustedPart[];
  readonly files: readonly Pick<LoadedFile, "scope" | "path" | "state">[];
  /** Permission rules as written in each file, weakest first, without those that may not count. */
  readonly rulesByFile: ReadonlyMap<string, FileRules>;
  /** Instructions that each file names, weakest first, without those that may not count. */
  readonly namedInstructions: readonly NamedInstruction[];
  /** Tool servers as each file defines them, weakest first. Their definitions may hold secrets. */
  readonly serversByFile: readonly FileServers[];
  /** Keys that are kept but not interpreted yet (`env`, …), by scope. */
  readonly reservedByScope: ReadonlyMap<Scope, JsonObject>;
}

interface FileRules {
  readonly allow: readonly string[];
  readonly ask: readonly string[];
  readonly deny: readonly string[];
}

/** Defaults, then files (user, project, local), then environment, then flags: the later one wins. Must not reject. */
export async function readSettings(inputs: SettingsInput): Promise<LoadedSettings> {
  return combineSettings(await readScopeFiles(inputs), inputs);
}

export const readScopeFiles = (place: SettingsLocation): Promise<readonly LoadedFile[]> =>
  Promise.all(scopeFiles(place).map(readScopeFile));

/** Like `readSettings`, from files that were already read. */
export function combineSettings(
  files: readonly LoadedFile[],
  inputs: Pick<SettingsInput, "root" | "env" | "flags">,
): LoadedSettings {
  const { root } = inputs;
  const trust = root === undefined ? "unasked" : findTrust(root, trustLists(files, inputs.env["HOME"]));
  const narrowed = files.map((file) => narrowProjectFile(file, { trust, root: root ?? "" }));
  const counting = strengthenSandbox(narrowed.map(({ file }) => file));
  const here = findProjectParts(files, inputs);
  const places = [
    ...counting.map(fileValues),
    ...here.map(partValues),
    environmentValues(inputs.env),
    flagValues(inputs.flags ?? []),
  ];
  const settings = resolveSettings(places);
  const problems = [...places.flatMap((one) => one.problems), ...modelProblems(settings)];
  return {
    settings,
    problems: problems.toSorted((one, other) => one.severity.localeCompare(other.severity)),
    trust,
    untrusted: narrowed.flatMap((one) => one.untrusted),
    files: files.map(({ scope, path, state }) => ({ scope, path, state })),
    rulesByFile: rulesByFile([...counting, ...here]),
    namedInstructions: counting.flatMap(({ scope, parsed }) =>
      stringItems(parsed.values.get("instructions")).map((written) => ({ written, scope })),
    ),
    serversByFile: files.map(serversInFile),
    reservedByScope: new Map(files.map(({ scope, parsed }) => [scope, parsed.reserved])),
  };
}

/** Only the user's own file decides which projects are trusted. */
function trustLists(files: readonly LoadedFile[], userHome: string | undefined): TrustLists {
  const values = files.find(({ scope }) => scope === "user")?.parsed.values;
  return {
    trusted: stringItems(values?.get("trustedProjects")),
    refused: stringItems(values?.get("refusedProjects")),
    userHome,
  };
}

const stringItems = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((text) => typeof text === "string") : [];

type RulesSource = Pick<LoadedFile, "path"> & { readonly parsed: Pick<LoadedFile["parsed"], "values"> };

function rulesByFile(written: readonly RulesSource[]): ReadonlyMap<string, FileRules> {
  const found = new Map<string, FileRules>();
  for (const { path, parsed } of written) {
    const before = found.get(path);
    const rules = (use: keyof FileRules) => [
      ...(before?.[use] ?? []),
      ...stringItems(parsed.values.get(`permissions.${use}`)),
    ];
    found.set(path, { allow: rules("allow"), ask: rules("ask"), deny: rules("deny") });
  }
  return found;
}

interface ProjectPartSource {
  readonly path: string;
  readonly parsed: ProjectPart;
}

/** The sections of the user's own file for this project, matched by real path. */
function findProjectParts(
  files: readonly LoadedFile[],
  { root, env }: Pick<SettingsInput, "root" | "env">,
): readonly ProjectPartSource[] {
  if (root === undefined) return [];
  const here = realPath(root);
  return files
    .filter(({ scope }) => scope === "user")
    .flatMap(({ path, parsed }) =>
      parsed.projects
        .filter((part) => projectFolder(part.root, env["HOME"]) === here)
        .map((part) => ({ path, parsed: part })),
    );
}

function partValues({ path, parsed }: ProjectPartSource): GivenSettings {
  const from = `${path} for ${parsed.root}`;
  const settings = [...parsed.values].map(
    ([name, value]) => [name, { value, source: "user-project", from } satisfies GivenSetting] as const,
  );
  return { givenByName: new Map(settings), problems: parsed.problems };
}

function fileValues({ scope, path, parsed }: LoadedFile): GivenSettings {
  const settings = [...parsed.values].map(
    ([name, value]) => [name, { value, source: scope, from: path } satisfies GivenSetting] as const,
  );
  return { givenByName: new Map(settings), problems: parsed.problems };
}

/**
 * A model that is not in the registry needs all of its figures; with only some of them it would silently be ignored.
 */
function modelProblems({ models }: Settings): readonly Problem[] {
  return models.value
    .filter(({ id }) => findModel(id, models.value) === undefined)
    .map(({ id }) => ({
      severity: "warning",
      where: models.from,
      key: "models",
      what: `${id} is not in the registry, so all of its figures are needed; some are missing, so it is ignored`,
      unknown: { name: id, known: knownModels.map((model) => model.id) },
    }));
}

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
