import type { z } from "zod";

/** Where a number comes from: the published descriptions of the systems we follow, what else is known of them, or us. */
export type Basis = "published" | "elsewhere" | "ours";

export interface SettingRow<Value = unknown> {
  /** Of the value in settings.json; of one item where the setting is a list. */
  readonly shape: z.ZodType;
  /** Ends the sentence "expected …". */
  readonly expects: string;
  readonly type: "text" | "number" | "switch" | "list";
  /** Of a list: of two with one id the stronger scope's counts, or every scope's items count, the weakest first. */
  readonly addsUp?: "by-id" | "all";
  readonly default: Value;
  /** What stands for a default that depends on something else. */
  readonly defaultSays?: string;
  /** Names that give it a value, strongest first. */
  readonly environment: readonly string[];
  /** Names that turn it off when they are true; they win over `environment`. */
  readonly offBy?: readonly string[];
  /** `--<flag> <value>`; switches have `--on <name>` and `--off <name>` instead. */
  readonly flag?: string;
  /** What help shows for the flag's value; the flag's last word where it is absent. */
  readonly flagShown?: string;
  /** A flag that stands alone, and the value that it gives. */
  readonly loneFlag?: { readonly flag: string; readonly value: string; readonly about: string };
  /** What a number out of its range is; an error unless it says otherwise. Anything else that is wrong is an error. */
  readonly whenOutOfRange?: "warning";
  readonly about: string;
  readonly basis: Basis;
  readonly state?: RowState;
}

/** `planned`: what it is about is not there yet, so nothing reads it. */
export type RowState = "planned";
