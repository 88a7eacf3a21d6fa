import { isArray, isObject, type Json } from "../schema/json.ts";
import { type SettingName, settingTable } from "../schema/setting-table.ts";
import { quotedCharsMax } from "./limits.ts";

/** A problem with the settings, for the user. Never fatal: a wrong value is ignored, the rest applies. */
export interface Problem {
  readonly severity: "error" | "warning";
  /** The file's path, `environment NAME` or `flag --x`. */
  readonly where: string;
  /** `flags.clear.size`, `models[0].prices.input`; empty if it is about the whole file. */
  readonly key: string;
  /** One sentence without where and key, and without a full stop. */
  readonly what: string;
  /** For an unknown name: the name as it was written, and the known names. */
  readonly unknown?: { readonly name: string; readonly known: readonly string[] };
}

export const formatProblem = ({ where, key, what }: Problem): string =>
  [where, key, what].filter((part) => part !== "").join(": ");

export const problemSeverity = (name: SettingName, found: unknown): Problem["severity"] =>
  typeof found === "number" && !Number.isNaN(found) ? (settingTable[name].whenOutOfRange ?? "error") : "error";

interface WrongValueInput extends Pick<Problem, "severity" | "where" | "key"> {
  readonly expected: string;
  readonly found: Json | undefined;
  /** `refused`: the command ends, so nothing runs without the value. */
  readonly fate?: "ignored" | "refused";
}

export const wrongValue = ({ expected, found, fate = "ignored", ...rest }: WrongValueInput): Problem => ({
  ...rest,
  what: `expected ${expected}, found ${formatFound(found)}; ${fate}`,
});

/** An error for keys that restrict something: the first restriction is lost. */
export const duplicateKeyProblem = (key: string, where: string): Problem => ({
  severity: /^(permissions(\.(ask|deny))?|sandbox)$/.test(key) ? "error" : "warning",
  where,
  key,
  what: "appears twice; the last one counts",
});

/** Lists and objects are named, not quoted: they may hold secrets. */
function formatFound(found: Json | undefined): string {
  if (found === undefined) return "nothing";
  if (isArray(found)) return "a list";
  if (isObject(found)) return "an object";
  const text = JSON.stringify(found);
  return text.length > quotedCharsMax ? `${text.slice(0, quotedCharsMax)}…` : text;
}
