import { z } from "zod";
import { settingNames, settingTable, type SettingName, type SettingValues } from "../schema/setting-table.ts";
import type { Problem } from "./problem.ts";

/** Each setting with its value and where that comes from. `places`: weakest first. */
export function resolveSettings(places: readonly Pick<GivenSettings, "givenByName">[]): Settings {
  const strongest = places.toReversed();
  const entries = settingNames.map((name): [SettingName, Sourced<unknown>] => {
    const given = strongest.map(({ givenByName }) => givenByName.get(name)).filter((one) => one !== undefined);
    const inForce = combineGiven(given, settingTable[name].addsUp);
    return [name, inForce ?? { value: settingTable[name].default, source: "default", from: "built in" }];
  });
  // Every value went through its row's shape or is its row's default; the compiler cannot follow that over a loop.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Settings;
}

/** `given`: strongest first. A project that adds a model or a hook does not take the user's away. */
function combineGiven(given: readonly GivenSetting[], how: "by-id" | "all" | undefined): GivenSetting | undefined {
  const [first] = given;
  if (first === undefined || how === undefined) return first;
  const from = given.map((one) => one.from).join(" and ");
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
/** `user-project`: of the user's own settings, for this project only. */
export type Source = "default" | Scope | "user-project" | `environment ${string}` | `flag --${string}`;

/** A value somebody gave, already of the shape that the table asks for. */
export interface GivenSetting {
  readonly value: unknown;
  readonly source: Exclude<Source, "default">;
  /** The file's path, the variable's name or the flag. */
  readonly from: string;
}

/** What one place says. */
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
