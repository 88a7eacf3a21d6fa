import { z } from "zod";
import { settingNames, settingTable, type SettingName } from "../schema/settings.ts";
import type { Given, InForce, GivenValues, Settings } from "./given.ts";

/** Each setting with its value and where that comes from. `places`: weakest first. */
export function resolveSettings(places: readonly Pick<GivenValues, "givenByName">[]): Settings {
  const strongest = places.toReversed();
  const entries = settingNames.map((name): [SettingName, InForce<unknown>] => {
    const given = strongest.map(({ givenByName }) => givenByName.get(name)).filter((one) => one !== undefined);
    const inForce = addedUp(given, settingTable[name].addsUp);
    return [name, inForce ?? { value: settingTable[name].default, source: "default", from: "built in" }];
  });
  // Every value went through its row's shape or is its row's default; the compiler cannot follow that over a loop.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Settings;
}

/** `given`: strongest first. A project that adds a model or a hook does not take the user's away. */
function addedUp(given: readonly Given[], how: "by-id" | "all" | undefined): Given | undefined {
  const [first] = given;
  if (first === undefined || how === undefined) return first;
  const from = given.map((one) => one.from).join(" and ");
  const lists = given.map(({ value }) => items.parse(value));
  return { ...first, value: how === "all" ? lists.toReversed().flat() : firstById(lists.flat()), from };
}

const items = z.array(z.unknown());
const withId = z.looseObject({ id: z.string() });

function firstById(strongestFirst: readonly unknown[]): readonly unknown[] {
  const itemById = new Map<string, unknown>();
  for (const item of strongestFirst) {
    const { id } = withId.parse(item);
    if (!itemById.has(id)) itemById.set(id, item);
  }
  return [...itemById.values()];
}
