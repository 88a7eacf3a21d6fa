import type { JsonObject } from "../schema/json.ts";
import { findModel, knownModels } from "../tokens/registry.ts";
import { type Environment, environmentValues } from "./environment.ts";
import { type FileServers, serversOf } from "./file-servers.ts";
import { type ReadFile, readScopeFile, scopeFiles, type SettingsPlace } from "./files.ts";
import { type FlagInput, flagValues } from "./flags.ts";
import type { Given, GivenValues, Scope, Settings } from "./given.ts";
import { narrowingOnly } from "./narrowing-only.ts";
import { strengthenSandbox } from "./strengthen-sandbox.ts";
import type { Problem } from "./problem.ts";
import { resolveSettings } from "./resolve.ts";

export interface SettingsInputs extends SettingsPlace {
  readonly env: Environment;
  readonly flags?: readonly FlagInput[];
}

export interface SettingsReading {
  readonly settings: Settings;
  /** Errors first. */
  readonly problems: readonly Problem[];
  readonly files: readonly Pick<ReadFile, "scope" | "path" | "state">[];
  /** Permission rules as each file writes them, weakest first, without what may not count. */
  readonly rulesByFile: ReadonlyMap<string, WrittenRules>;
  /** Servers of tools as each file defines them, weakest first. Their definitions may hold keys. */
  readonly serversByFile: readonly FileServers[];
  /** Keys that are kept and not interpreted yet (`env`, …), by scope. */
  readonly reservedByScope: ReadonlyMap<Scope, JsonObject>;
}

export interface WrittenRules {
  readonly allow: readonly string[];
  readonly ask: readonly string[];
  readonly deny: readonly string[];
}

/** Defaults, then files (user, project, local), then environment, then flags: the later counts. Must not reject. */
export async function readSettings(inputs: SettingsInputs): Promise<SettingsReading> {
  return settingsFrom(await readFiles(inputs), inputs);
}

export const readFiles = (place: SettingsPlace): Promise<readonly ReadFile[]> =>
  Promise.all(scopeFiles(place).map(readScopeFile));

/** The same from files that were read before. */
export function settingsFrom(
  files: readonly ReadFile[],
  inputs: Pick<SettingsInputs, "env" | "flags">,
): SettingsReading {
  const trust = { folders: trustedFolders(files), userHome: inputs.env["HOME"] };
  const counting = strengthenSandbox(files.map((file) => narrowingOnly(file, trust)));
  const places = [...counting.map(fileValues), environmentValues(inputs.env), flagValues(inputs.flags ?? [])];
  const settings = resolveSettings(places);
  const problems = [...places.flatMap((one) => one.problems), ...modelProblems(settings)];
  return {
    settings,
    problems: problems.toSorted((one, other) => one.severity.localeCompare(other.severity)),
    files: files.map(({ scope, path, state }) => ({ scope, path, state })),
    rulesByFile: new Map(counting.map((file) => [file.path, rulesOf(file)])),
    serversByFile: files.map(serversOf),
    reservedByScope: new Map(files.map(({ scope, parsed }) => [scope, parsed.reserved])),
  };
}

/** Whom to trust is the person's own word. */
function trustedFolders(files: readonly ReadFile[]): readonly string[] {
  return textsOf(files.find(({ scope }) => scope === "user")?.parsed.values.get("trustedProjects"));
}

const textsOf = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((text) => typeof text === "string") : [];

const rulesOf = ({ parsed: { values } }: ReadFile): WrittenRules => ({
  allow: textsOf(values.get("permissions.allow")),
  ask: textsOf(values.get("permissions.ask")),
  deny: textsOf(values.get("permissions.deny")),
});

function fileValues({ scope, path, parsed }: ReadFile): GivenValues {
  const given = [...parsed.values].map(
    ([name, value]) => [name, { value, source: scope, from: path } satisfies Given] as const,
  );
  return { givenByName: new Map(given), problems: parsed.problems };
}

/** A model that nobody knows needs all of its figures; with some of them it would silently count for nothing. */
function modelProblems({ models }: Settings): readonly Problem[] {
  return models.value
    .filter(({ id }) => findModel(id, models.value) === undefined)
    .map(({ id }) => ({
      severity: "warning",
      where: models.from,
      key: "models",
      what: `${id} is not in the registry, so all of its figures are needed; some are missing, and it does not count`,
      unknown: { name: id, known: knownModels.map((model) => model.id) },
    }));
}
