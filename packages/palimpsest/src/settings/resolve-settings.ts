import { z } from "zod";
import { settingNames, settingTable, type SettingName, type SettingValues } from "../schema/setting-table.ts";
import type { Problem } from "./problem.ts";

/** Resolves each setting to its value and the source of the value. `places`: weakest first. */
export function resolveSettings(places: readonly Pick<GivenSettings, "givenByName">[]): Settings {
  const strongest = places.toReversed();
  const entries = settingNames.map((name): [SettingName, Sourced<unknown>] => {
    const given = strongest.map(({ givenByName }) => givenByName.get(name)).filter((setting) => setting !== undefined);
    const combined = combineGiven(given, settingTable[name].addsUp);
    return [name, combined ?? { value: settingTable[name].default, source: "default", from: "built in" }];
  });
  // Every value has passed its row's shape or is its row's default; the compiler can't follow that through a loop.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Settings;
}

/** `given`: strongest first. A project that adds a model or a hook does not remove the user's. */
function combineGiven(given: readonly GivenSetting[], how: "by-id" | "all" | undefined): GivenSetting | undefined {
  const [first] = given;
  if (first === undefined || how === undefined) return first;
  const from = given.map((setting) => setting.from).join(" and ");
  const lists = given.map(({ value }) => listShape.parse(value));
  return { ...first, value: how === "all" ? lists.toReversed().flat() : firstById(lists.flat()), from };
}

const listShape = z.array(z.unknown());
const withIdShape = z.looseObject({ id: z.string() });

function firstById(strongestFirst: readonly unknown[]): readonly unknown[] {
  const itemById = new Map<string, unknown>();
  for (const item of strongestFirst) {
    const { id } = withIdShape.parse(item);
    if (!itemById.has(id)) itemById.set(id, item);
  }
  return [...itemById.values()];
}

export type Scope = "user" | "project" | "local";
/** `user-project`: from the user's own settings, for this project only. */
export type Source = "default" | Scope | "user-project" | `environment ${string}` | `flag --${string}`;

/** A configured value, already checked against the table's shape. */
export interface GivenSetting {
  readonly value: unknown;
  readonly source: Exclude<Source, "default">;
  /** The file's path, the variable's name or the flag. */
  readonly from: string;
}

/** The settings of one place. */
export interface GivenSettings {
  readonly givenByName: ReadonlyMap<SettingName, GivenSetting>;
  readonly problems: readonly Problem[];
}

export interface Sourced<Value> {
  readonly value: Value;
  readonly source: Source;
  readonly from: string;
}

export type Settings = { readonly [Name in SettingName]: Sourced<SettingValues[Name]> };
