import type { JsonObject } from "palimpsest/internal/schema/json";
import { findModel, knownModels } from "palimpsest/internal/tokens/registry";
import { type Environment, environmentValues } from "./environment.ts";
import { type FileServers, serversOf } from "./file-servers.ts";
import { type ReadFile, readScopeFile, realPath, scopeFiles, type SettingsPlace } from "./files.ts";
import { type FlagInput, flagValues } from "./flags.ts";
import type { Given, GivenValues, Scope, Settings } from "palimpsest/internal/settings/given";
import {
  expandHome,
  narrowingOnly,
  type Trust,
  type TrustLists,
  trustOf,
  type UntrustedPart,
} from "./narrowing-only.ts";
import { strengthenSandbox } from "./strengthen-sandbox.ts";
import type { ProjectPart } from "./parse.ts";
import type { Problem } from "palimpsest/internal/settings/problem";
import { resolveSettings } from "palimpsest/internal/settings/resolve";

export interface SettingsInputs extends SettingsPlace {
  readonly env: Environment;
  readonly flags?: readonly FlagInput[];
}

export interface SettingsReading {
  readonly settings: Settings;
  /** Errors first. */
  readonly problems: readonly Problem[];
  readonly trust: Trust;
  /** What the project's files would do besides, were they trusted. */
  readonly untrusted: readonly UntrustedPart[];
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
  inputs: Pick<SettingsInputs, "root" | "env" | "flags">,
): SettingsReading {
  const { root } = inputs;
  const trust = root === undefined ? "unasked" : trustOf(root, trustLists(files, inputs.env["HOME"]));
  const narrowed = files.map((file) => narrowingOnly(file, { trust, root: root ?? "" }));
  const counting = strengthenSandbox(narrowed.map(({ file }) => file));
  const here = projectParts(files, inputs);
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
    serversByFile: files.map(serversOf),
    reservedByScope: new Map(files.map(({ scope, parsed }) => [scope, parsed.reserved])),
  };
}

/** Whom to trust is the user's own word. */
function trustLists(files: readonly ReadFile[], userHome: string | undefined): TrustLists {
  const values = files.find(({ scope }) => scope === "user")?.parsed.values;
  return {
    trusted: textsOf(values?.get("trustedProjects")),
    refused: textsOf(values?.get("refusedProjects")),
    userHome,
  };
}

const textsOf = (list: unknown): readonly string[] =>
  Array.isArray(list) ? list.filter((text) => typeof text === "string") : [];

type Rules = Pick<ReadFile, "path"> & { readonly parsed: Pick<ReadFile["parsed"], "values"> };

function rulesByFile(written: readonly Rules[]): ReadonlyMap<string, WrittenRules> {
  const found = new Map<string, WrittenRules>();
  for (const { path, parsed } of written) {
    const before = found.get(path);
    const rules = (use: keyof WrittenRules) => [
      ...(before?.[use] ?? []),
      ...textsOf(parsed.values.get(`permissions.${use}`)),
    ];
    found.set(path, { allow: rules("allow"), ask: rules("ask"), deny: rules("deny") });
  }
  return found;
}

interface PartHere {
  readonly path: string;
  readonly parsed: ProjectPart;
}

/** What the user's own file says for the project of this place, known by its real path. */
function projectParts(
  files: readonly ReadFile[],
  { root, env }: Pick<SettingsInputs, "root" | "env">,
): readonly PartHere[] {
  if (root === undefined) return [];
  const here = realPath(root);
  const named = (written: string): string => realPath(withoutEnd(expandHome(written, env["HOME"])));
  return files
    .filter(({ scope }) => scope === "user")
    .flatMap(({ path, parsed }) =>
      parsed.projects.filter((part) => named(part.root) === here).map((part) => ({ path, parsed: part })),
    );
}

const withoutEnd = (path: string): string => path.replace(/(?<=.)\/+$/, "");

function partValues({ path, parsed }: PartHere): GivenValues {
  const from = `${path} for ${parsed.root}`;
  const given = [...parsed.values].map(
    ([name, value]) => [name, { value, source: "user-project", from } satisfies Given] as const,
  );
  return { givenByName: new Map(given), problems: parsed.problems };
}

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
