import { isDeepStrictEqual } from "node:util";
import { settingNames, type SettingName } from "palimpsest/internal/schema/settings";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Settings, Source } from "palimpsest/internal/settings/given";

/** A setting that has another value than before. */
export interface SettingChange {
  readonly name: SettingName;
  readonly before: unknown;
  readonly after: unknown;
  readonly source: Source;
  readonly from: string;
}

export const changesBetween = (before: Settings, after: Settings): readonly SettingChange[] =>
  settingNames
    .filter((name) => !isDeepStrictEqual(before[name].value, after[name].value))
    .map((name) => {
      const { value, source, from } = after[name];
      return { name, before: before[name].value, after: value, source, from };
    });

/** The entries by which a session remembers them. JSON has no undefined: what is not set is null. */
export const settingDrafts = (changes: readonly SettingChange[]): readonly Draft[] =>
  changes.map(({ name, before, after, source, from }) => ({
    type: "setting",
    name,
    value: after ?? null,
    before: before ?? null,
    source,
    from,
  }));
