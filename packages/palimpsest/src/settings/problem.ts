import { isArray, isObject, type Json } from "../schema/json.ts";
import { type SettingName, settingTable } from "../schema/setting-table.ts";
import { quotedCharsMax } from "./limits.ts";

/** Something about the settings that a person should know. Never fatal: what is wrong is ignored, the rest counts. */
export interface Problem {
  readonly severity: "error" | "warning";
  /** The file's path, `environment NAME` or `flag --x`. */
  readonly where: string;
  /** `flags.clear.size`, `models[0].prices.input`; empty where it is about the whole. */
  readonly key: string;
  /** One sentence without where and key, and without a full stop. */
  readonly what: string;
  /** For a name that is not known: as it was written, and those that are. */
  readonly unknown?: { readonly name: string; readonly known: readonly string[] };
}

export const formatProblem = ({ where, key, what }: Problem): string =>
  [where, key, what].filter((part) => part !== "").join(": ");

export const problemSeverity = (name: SettingName, found: unknown): Problem["severity"] =>
  typeof found === "number" && !Number.isNaN(found) ? (settingTable[name].whenOutOfRange ?? "error") : "error";

interface WrongValueInput extends Pick<Problem, "severity" | "where" | "key"> {
  readonly expected: string;
  readonly found: Json | undefined;
  /** `refused`: the command ends, so nothing goes on without it. */
  readonly fate?: "ignored" | "refused";
}

export const wrongValue = ({ expected, found, fate = "ignored", ...rest }: WrongValueInput): Problem => ({
  ...rest,
  what: `expected ${expected}, found ${formatFound(found)}; ${fate}`,
});

/** Of what narrows, the first is lost: that must not pass for a slip. */
export const duplicateKeyProblem = (key: string, where: string): Problem => ({
  severity: /^(permissions(\.(ask|deny))?|sandbox)$/.test(key) ? "error" : "warning",
  where,
  key,
  what: "stands there twice; the last one counts",
});

/** Lists and objects are named, not quoted: they may hold what does not belong on a screen. */
function formatFound(found: Json | undefined): string {
  if (found === undefined) return "nothing";
  if (isArray(found)) return "a list";
  if (isObject(found)) return "an object";
  const text = JSON.stringify(found);
  return text.length > quotedCharsMax ? `${text.slice(0, quotedCharsMax)}…` : text;
}
