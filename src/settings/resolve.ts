import { type ModelOverride, modelOverrideShape } from "../schema/model.ts";
import { settingNames, settingTable, type SettingName } from "../schema/settings.ts";
import type { Given, InForce, GivenValues, Settings } from "./given.ts";

/** Each setting with its value and where that comes from. `places`: weakest first. */
export function resolveSettings(places: readonly Pick<GivenValues, "givenByName">[]): Settings {
  const strongest = places.toReversed();
  const entries = settingNames.map((name): [SettingName, InForce<unknown>] => {
    const given = strongest.map(({ givenByName }) => givenByName.get(name)).filter((one) => one !== undefined);
    const inForce = settingTable[name].type === "list" ? addedUp(given) : given[0];
    return [name, inForce ?? { value: settingTable[name].default, source: "default", from: "built in" }];
  });
  // Every value went through its row's shape or is its row's default; the compiler cannot follow that over a loop.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Settings;
}

/** A project that adds a model does not take the user's away: of two with one id the stronger scope's counts. */
function addedUp(given: readonly Given[]): Given | undefined {
  const [first] = given;
  if (first === undefined) return undefined;
  const overrideById = new Map<string, ModelOverride>();
  for (const { value } of given)
    for (const override of modelOverrideShape.array().parse(value))
      if (!overrideById.has(override.id)) overrideById.set(override.id, override);
  return { ...first, value: [...overrideById.values()], from: given.map(({ from }) => from).join(" and ") };
}
