import type { SettingName, SettingValues } from "../schema/settings.ts";
import type { Problem } from "./problem.ts";

export type Scope = "user" | "project" | "local";
/** `user-project`: of the user's own settings, for this project only. */
export type Source = "default" | Scope | "user-project" | `environment ${string}` | `flag --${string}`;

/** A value somebody gave, already of the shape that the table asks for. */
export interface Given {
  readonly value: unknown;
  readonly source: Exclude<Source, "default">;
  /** The file's path, the variable's name or the flag. */
  readonly from: string;
}

/** What one place says. */
export interface GivenValues {
  readonly givenByName: ReadonlyMap<SettingName, Given>;
  readonly problems: readonly Problem[];
}

export interface InForce<Value> {
  readonly value: Value;
  readonly source: Source;
  readonly from: string;
}

export type Settings = { readonly [Name in SettingName]: InForce<SettingValues[Name]> };
